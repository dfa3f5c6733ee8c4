package cudaname

// training matches kernels that only a backward pass or an optimizer launches.
// multi_tensor_apply alone is no evidence: engines copy the inputs of graphs with it.
var training = later(`(?i:backward|bwd)|fmha_cutlassB_|` +
	`multi_tensor_apply_kernel\b.*(?:Adam|SGD|Sgd|LAMB|Lamb|Adagrad|NovoGrad|PointwiseOp\w*Functor)`)

// fourier matches Fourier transforms: a backward transform is not part of a backward
// pass.
var fourier = later(`(?i)fft`)

// Trains reports whether a kernel belongs to a backward pass or an optimizer, by its
// demangled name, or its short one if there is no other. The first 16 KiB are used.
func Trains(name string) bool {
	name = name[:min(len(name), maxClassed)]
	return training().MatchString(name) && !fourier().MatchString(name)
}
