package cudaname

// training matches kernels that only a backward pass or an optimizer launches. That kernels
// are of multi_tensor_apply is no sign of one: engines copy the inputs of graphs with it.
var training = later(`(?i:backward|bwd)|fmha_cutlassB_|` +
	`multi_tensor_apply_kernel\b.*(?:Adam|SGD|Sgd|LAMB|Lamb|Adagrad|NovoGrad|PointwiseOp\w*Functor)`)

// fourier matches transforms, of which a backward one is of no backward pass.
var fourier = later(`(?i)fft`)

// Trains reports whether a kernel is one of a backward pass or an optimizer, by its demangled
// name, or the short one where there is no other, of which the first 16 KiB count.
func Trains(name string) bool {
	name = name[:min(len(name), maxClassed)]
	return training().MatchString(name) && !fourier().MatchString(name)
}
