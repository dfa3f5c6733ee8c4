package metric

// isNCCL reports whether name contains "nccl", in any case.
func isNCCL(name []byte) bool {
	// Look at every fourth byte at most: where it cannot be the last of the
	// word, go on as far as it allows.
	for i := 3; i < len(name); {
		switch name[i] | 0x20 {
		case 'l':
			if name[i-1]|0x20 == 'c' && name[i-2]|0x20 == 'c' && name[i-3]|0x20 == 'n' {
				return true
			}
			i += 4
		case 'c':
			i++
		case 'n':
			i += 3
		default:
			i += 4
		}
	}
	return false
}
