package kineto

import "testing"

// No name has the directory of a user in it, wherever the path stands.
func TestHomes(t *testing.T) {
	for _, c := range []struct {
		category category
		in, want string
	}{
		{pythonCategory, "/home/ann/x.py(3): f", "x.py(3): f"},
		{pythonCategory, "/mnt/home/ann/a/b/x.py(3): f", "b/x.py(3): f"},
		{pythonCategory, "C:/Users/ann/x.py(3): f", "x.py(3): f"},
		{pythonCategory, "/opt/app/serve/x.py(3): f", "serve/x.py(3): f"},
		{pythonCategory, "D:/ann/serve/x.py(3): f", "serve/x.py(3): f"},
		{pythonCategory, `D:\\ann\\serve\\x.py(3): f`, "serve/x.py(3): f"},
		{pythonCategory, `\\\\host\\ann\\serve\\x.py(3): f`, "serve/x.py(3): f"},
		{annotationCategory, "load /home/ann/model.bin (2)", "load model.bin (2)"},
		{annotationCategory, "~ann/model.bin", "model.bin"},
		{annotationCategory, `C:\\Users\\ann\\model.bin`, "model.bin"},
		{operatorCategory, "compiled(/home/ann)", "compiled()"},
		{annotationCategory, "step / home", "step / home"},
		{overheadCategory, "/home/ann/x.so", "x.so"},
		{syncCategory, "/home/ann/x", "x"},
	} {
		if got, _ := resolve(nameKey{c.category, `"` + c.in + `"`}); got != c.want {
			t.Errorf("%s: got %q, want %q", c.in, got, c.want)
		}
	}
}
