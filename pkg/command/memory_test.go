package command

import "testing"

func TestParseSize(t *testing.T) {
	for text, want := range map[string]int64{
		"64M": 64 << 20, "512MiB": 512 << 20, "1.5G": 3 << 29, "0.0625g": 64 << 20, "2T": 2 << 40, "67108864": 64 << 20, "65536K": 64 << 20,
	} {
		if got, ok := parseSize(text); !ok || got != want {
			t.Errorf("%s is %d, %v, want %d", text, got, ok, want)
		}
	}
	for _, text := range []string{"", "M", "63M", "1e9", "-1G", "NaN", "Inf", "1.2.3G", "0x10G", "9999999T", "1P", "1 G"} {
		if got, ok := parseSize(text); ok {
			t.Errorf("%q is %d", text, got)
		}
	}
}
