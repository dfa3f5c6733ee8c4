package cudaname

import (
	"regexp"
	"strings"
	"sync"
)

// inductor matches the kernels that torch.compile generates for pointwise and
// reduction groups. See the package comment.
const inductor = `^triton_(poi|red|per|for)_`

// pattern matches a name that matches yes, and does not match no, unless no is nil.
type pattern struct{ yes, no anyOf }

// newPattern returns a pattern; yes and no are alternatives.
func newPattern(yes, no []string) pattern {
	p := pattern{yes: newAnyOf(yes...)}
	if len(no) > 0 {
		p.no = newAnyOf(no...)
	}
	return p
}

// anyOf is alternatives as one expression, ignoring case.
type anyOf func() *regexp.Regexp

func newAnyOf(alternatives ...string) anyOf {
	return later(`(?i)` + strings.Join(alternatives, "|"))
}

// later returns an expression that is compiled when first needed: few commands classify
// names, and compiling all expressions takes a third of a short command's time.
func later(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}

// match reports whether a name contains one of the alternatives.
func (a anyOf) match(s string) bool { return a().MatchString(s) }

// match reports whether a name matches the pattern.
func (p pattern) match(s string) bool {
	return p.yes.match(s) && (p.no == nil || !p.no.match(s))
}

// Collectives need several checks of the name; see ClassKernel.
var (
	allReducePattern = newPattern([]string{
		`all_?reduce`, `cross_device_reduce`, `userbuffers.*sum`,
	}, nil)
	// The op is multimem_one_shot_all_reduce; its kernel omits the all.
	multimemPattern = newPattern([]string{`multimem_\w*reduce`}, []string{`reduce_?scatter`})
	commPattern     = newPattern([]string{
		`[nr]ccl`, `all_?gather`, `reduce_?scatter`, `send_?recv`, `all_?to_?all`,
		`moeA2A`, `a2a_kernel`,
		`userbuffers`, `multimem_`, `nvshmem`, `ipc_\w*rsag`, `push_oneshot`,
	}, nil)
	// twoShotTail is the kernel after an all-reduce. Its namespace and arguments are
	// named after the all-reduce.
	twoShotTail  = newAnyOf(`rmsNormLamport`)
	deepEP       = newAnyOf(`(^|::)deep_ep::`)
	moeNamespace = newAnyOf(`(^|::)\w*moe\w*::`)

	// These two apply to the kernel's own name only: an all-reduce may have a barrier
	// among its template arguments.
	notCollective = newAnyOf(`lamport_?initialize`, inductor)
	notAllReduce  = newAnyOf(`barrier`)
)

// rules are the classes after the collectives; the first match wins. Routing precedes
// attention, and grouped GEMMs precede GEMMs, which would match their kernels. Norms
// precede quant, because fused norms quantise.
var rules = []struct {
	class string
	pattern
}{
	{MoE, newPattern([]string{
		`moe`, `expert`, `routing`, `topk_?gating`, `grouped_?topk`, `bitmatrix`,
		`deepseek_v3_topk`, `group_idx_and_topk`, `expand_?input_?rows`,
	}, []string{inductor})},
	{Attention, newPattern([]string{
		`flash([^i]|$)`, // not flashinfer, which is a library
		`attention`, `attn`, `fmha`, `mmha`, `(^|_)mha`, `mha_`, `multi_?head`,
		`(^|_)mla`, `mla_`, `mqa_logits`, `xqa`, `delta_rule`,
		`(batch|single)_?(decode|prefill)_?with`, `merge_?states?`,
		`^_fwd_(kernel|grouped)`,
		`(mask(ed)?|triang\w*|bias)_?soft_?max`,
		// PyTorch's for rows of up to 1,024, shorter than any vocabulary, and ggml's,
		// which samples on the host.
		`softmax_warp_forward`, `^soft_max_f32`,
		`kv_?cache`, `(reshape|concat)_and_cache`, `paged_?kv`, `kv_ind(ices|ptr)`,
	}, []string{inductor})},
	{MoE, newPattern([]string{
		`^bmm_`, `group(ed)?_?gemm`, `group_?problem_?shape`,
	}, []string{inductor})},
	{GEMM, newPattern([]string{
		`gemm`, `gemv`, `nvjet`, `matmul`, `mul_mat`, `bmm`, `(^|_)(add|scaled_)?mm(_|$)`,
		`split_?k_?reduce`, `cijk_`, `block_fp8`, `marlin`,
		`fprop`, `dgrad`, `wgrad`, `implicit_conv`,
	}, []string{inductor})},
	{Norm, newPattern([]string{
		`norm`, `(^|_)ln_fwd`,
	}, []string{`renorm`, `normal(_|\d|$)`})},
	{RoPE, newPattern([]string{
		`rotary`, `(^|[^p])rope`, // not property
		`compute_position_kernel`,
	}, nil)},
	{Activation, newPattern([]string{
		`act_and_mul`, `activation`, `silu`, `swish`, `(sw|ge)i?glu`, `gelu`, `relu`, `sigmoid`,
	}, nil)},
	{Quant, newPattern([]string{
		`quant`, `cvt_`, `(to|convert|scaled)_fp[48]`, `per_token_cast`, `scale_1x128`,
	}, []string{`quantil`})},
	{Sampling, newPattern([]string{
		`sampl`, `top_?[kp]`, `min_p(_|$)`, `soft_?max`, `arg_?max`, `greedy`, `multinomial`,
		`penalt`, `logits`, `beam_?search`, `renorm_?prob`, `speculative`, `rejection`,
	}, []string{`(up|down|grid)_?sampl`})},
	{Copy, newPattern([]string{
		`copy`, `memcpy`, `memset`, `cat_?array`, `concat`, `gather`, `scatter`,
		`transpose`, `permut`, `index_?select`, `embedding`,
	}, []string{inductor})},
	{Elementwise, newPattern([]string{
		`element_?wise`, `point_?wise`, `^triton_(poi|for)_`, `^cupy_\w+__`, `(^|_)fill`,
	}, nil)},
	{Reduce, newPattern([]string{
		// A barrier may be named after the all-reduce that it serves.
		`^triton_(red|per)_`, `reduc(e|tion)`,
	}, []string{`barrier`})},
}

// maxClassed is how many bytes of each form of a name are used. No compiler writes
// longer ones, and a megabyte would take eight seconds.
const maxClassed = 16 << 10

// ClassKernel returns the class of a kernel by its short and its demangled name, either
// of which may be empty. It uses the first 16 KiB of each. The package comment has the
// table of classes, and says how names are matched.
func ClassKernel(short, demangled string) string {
	sym := newSymbol(short, demangled)
	for _, s := range []*string{&sym.base, &sym.scope, &sym.head} {
		*s = (*s)[:min(len(*s), maxClassed)]
	}
	if notCollective.match(sym.base) {
		return classByRules(sym.base) // its namespaces are those of collectives
	}
	mayReduce := !notAllReduce.match(sym.base)
	if class := classCollective(sym.base, mayReduce); class != Other {
		return class
	}
	switch {
	case deepEP.match(sym.scope): // its kernels are named dispatch and combine
		return Comm
	case moeNamespace.match(sym.scope):
		return MoE
	}
	if class := classByRules(sym.base); class != Other {
		return class
	}
	for _, name := range []string{sym.scope, sym.head} {
		if class := classCollective(name, mayReduce); class != Other {
			return class
		}
		if class := classByRules(name); class != Other {
			return class
		}
	}
	return Other
}

// classCollective returns AllReduce, Comm or Other.
func classCollective(name string, mayReduce bool) string {
	switch {
	case twoShotTail.match(name):
		return Comm
	case mayReduce && (allReducePattern.match(name) || multimemPattern.match(name)):
		return AllReduce
	case commPattern.match(name):
		return Comm
	}
	return Other
}

func classByRules(name string) string {
	for i := range rules {
		if rules[i].match(name) {
			return rules[i].class
		}
	}
	return Other
}
