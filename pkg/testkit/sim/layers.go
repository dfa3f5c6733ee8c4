package sim

// forward returns the kernel sequence of a forward pass on one rank.
func (b *modelBuilder) forward(scale float64, context bool) []work {
	b.context = context
	attention := b.attention(scale, context)
	var seq []work
	if b.first {
		seq = append(seq, b.named(embedKernel, 2.2*scale, apiLaunch))
	} else {
		seq = append(seq, b.transfer(-1))
	}
	if b.first && b.parallel && !b.c.Model.AttentionDP {
		seq = b.reduceTo(seq, scale)
	}
	seq = append(seq, b.named(normKernel, 2.1*scale, apiLaunchEx))
	for i := b.from; i < b.to; i++ {
		if b.copying {
			seq = append(seq, work{bytes: 65536, kind: 1, mean: 2.4, api: b.t.String(apiCopy), pageable: true})
		}
		if n := b.c.Model.AttentionEvery; n > 0 && i%n != n/2 {
			seq = b.mamba(seq, scale, context)
		} else {
			seq = b.attend(seq, attention, scale)
		}
		if b.c.Model.Experts && i >= b.c.Model.DenseFirst {
			seq = b.experts(seq, scale)
		} else {
			seq = b.dense(seq, scale)
		}
	}
	switch {
	case !b.last:
		seq = append(seq, b.transfer(1))
	case !b.c.Engine.LogitsOutside:
		seq = append(seq, b.lastTokens(b.logits(scale))...)
	}
	return joined(seq)
}

// joined makes what follows work on another stream wait for it.
func joined(seq []work) []work {
	for i := 1; i < len(seq); i++ {
		if seq[i-1].stream != computeStream {
			seq[i].join = true
		}
	}
	return seq
}

// logits returns the product that ends the forward pass.
func (b *modelBuilder) logits(scale float64) work {
	return b.kernel("nvjet_tst_192x8_64x8_2x1_v_bz_TNT", 21*scale, apiLaunchEx)
}

// attention returns the kernel that mixes tokens. Context steps, which read all tokens of
// a prompt at once, have another one.
func (b *modelBuilder) attention(scale float64, context bool) work {
	w := b.named(decodeKernel, 5.1*scale, apiDriver)
	if context {
		w = b.named(prefillKernel, 9*scale, apiDriver)
	}
	w.attention = true
	return w
}

// transfer returns the kernel that passes hidden states between stages; link as in work.
func (b *modelBuilder) transfer(link int) work {
	w := b.kernel("ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<(unsigned long)4096>)", 9, apiLaunchEx)
	w.collective, w.link = true, link
	return w
}

// reduceTo ends a block with its allreduce or, with Model.Scatter, with a reduce-scatter,
// a norm and an all-gather.
func (b *modelBuilder) reduceTo(seq []work, scale float64) []work {
	if !b.c.Model.Scatter || !b.parallel {
		return append(seq, b.allreduce(scale))
	}
	scatter := b.kernel("ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<(unsigned long)4096>)", 5*scale, apiLaunchEx)
	gather := b.kernel("ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<(unsigned long)4096>)", 4.4*scale, apiLaunchEx)
	scatter.collective, gather.collective = true, true
	return append(seq, scatter, b.norm(scale), gather)
}

// attend adds attention with its projections.
func (b *modelBuilder) attend(seq []work, attention work, scale float64) []work {
	seq = append(seq, b.kernel("nvjet_tst_64x8_64x16_4x1_v_bz_TNT", 4.6*scale, apiLaunchEx))
	if !b.c.Fused {
		seq = append(seq, b.named(ropeKernel, 2.4*scale, apiLaunch))
	}
	seq = append(seq, attention,
		b.kernel("nvjet_tst_64x8_64x16_2x1_v_bz_splitK_TNT", 3.9*scale, apiLaunchEx))
	if b.c.Model.AttentionDP {
		return append(seq, b.norm(scale))
	}
	return b.reduceTo(seq, scale)
}

// norm returns a residual addition with its norm, for blocks without an allreduce that
// contains it.
func (b *modelBuilder) norm(scale float64) work {
	return b.kernel("void flashinfer::norm::FusedAddRMSNormKernel<8, __nv_bfloat16>(T2 *, T2 *, T2 *, unsigned int, float)", 2.6*scale, apiLaunchEx)
}

// dense adds a plain feed-forward block.
func (b *modelBuilder) dense(seq []work, scale float64) []work {
	seq = append(seq, b.kernel("nvjet_tst_128x8_64x12_2x1_v_bz_TNT", 7.3*scale, apiLaunchEx))
	if !b.c.Fused {
		seq = append(seq, b.named(activationKernel, 1.9*scale, apiLaunchEx))
	}
	seq = append(seq, b.kernel("nvjet_tst_64x8_64x16_1x4_h_bz_TNN", 5.2*scale, apiLaunchEx))
	if b.c.Model.AttentionDP {
		return append(seq, b.norm(scale))
	}
	return b.reduceTo(seq, scale)
}

// mamba adds a state-space mixer instead of attention.
func (b *modelBuilder) mamba(seq []work, scale float64, context bool) []work {
	seq = append(seq, b.kernel("nvjet_tst_64x8_64x16_4x2_v_bz_TNT", 5.4*scale, apiLaunchEx))
	if context {
		for _, name := range []string{"_causal_conv1d_fwd_kernel", "_chunk_cumsum_fwd_kernel", "_chunk_state_fwd_kernel",
			"_state_passing_fwd_kernel", "_bmm_chunk_fwd_kernel", "_chunk_scan_fwd_kernel"} {
			seq = append(seq, b.kernel(name, 3*scale, apiDriver))
		}
	} else {
		seq = append(seq, b.kernel("_causal_conv1d_update_kernel", 2*scale, apiDriver),
			b.kernel("_selective_scan_update_kernel", 4.4*scale, apiDriver))
	}
	seq = append(seq, b.kernel("_layer_norm_fwd_1pass_kernel", 1.9*scale, apiDriver),
		b.kernel("nvjet_tst_64x8_64x16_2x1_v_bz_splitK_TNT", 3.9*scale, apiLaunchEx))
	return b.reduceTo(seq, scale)
}

// experts adds a mixture-of-experts block.
func (b *modelBuilder) experts(seq []work, scale float64) []work {
	from := len(seq)
	defer func() { seq[from].expert = true }()
	if b.c.Model.Shared {
		seq = append(seq, b.kernel("nvjet_tst_64x8_64x16_2x2_h_bz_TNT", 3.4*scale, apiLaunchEx),
			b.kernel("void flashinfer::activation::act_and_mul_kernel<__nv_bfloat16, &silu>(T1 *, const T1 *, int)", 1.7*scale, apiLaunchEx),
			b.kernel("nvjet_tst_64x8_64x16_1x2_h_bz_TNN", 2.9*scale, apiLaunchEx))
	}
	seq = append(seq, b.kernel("void tensorrt_llm::kernels::router_gemm_kernel_float_output<__nv_bfloat16, 8, 256, 2048>(float *, T1 const *, T1 const *)", 2.8*scale, apiLaunch),
		b.kernel("void moe::dev::routing::routingDeepSeek::routingMainKernel<moe::dev::routing::routingDeepSeek::KernelParams>(T1)", 3.6*scale, apiLaunch))
	if b.c.Model.AllToAll {
		seq = append(seq, b.exchange("Dispatch", scale)...)
	}
	seq = append(seq, b.kernel("bmm_E4m3_E4m3E4m3_Fp32_t128x8x128u2_s6_et64x8_m64x8x32_cga1x1x1_16dp256b_TN_transOut_swiGlu_dynBatch_sm100f", 9.1*scale, apiDriver),
		b.kernel("bmm_Bfloat16_E4m3E4m3_Fp32_t128x8x128_s6_et128x8_m128x8x32_cga1x1x1_16dp256b_TN_transOut_dynBatch_sm100f", 6.7*scale, apiDriver))
	if b.c.Model.AllToAll {
		return append(append(seq, b.exchange("Combine", scale)...), b.norm(scale))
	}
	seq = append(seq, b.kernel("void moe::dev::finalize::finalizeKernel<moe::dev::finalize::KernelParams<cutlass::bfloat16_t, true>>(T1)", 2.3*scale, apiLaunch))
	return b.reduceTo(seq, scale)
}

// prepare returns n kernels that assemble the inputs on the GPU.
func (b *modelBuilder) prepare(n int) []work {
	small := []string{
		"void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctorOnSelf_add<int>, std::array<char *, 2>>(int, T2, T3)",
		"void at::native::CatArrayBatchedCopy_vectorized<at::native::OpaqueType<4>, unsigned int, 1, 64, 64, 16, 4>(char *, T1)",
		"void at_cuda_detail::cub::DeviceScanKernel<at_cuda_detail::cub::DeviceScanPolicy<int>::Policy600, int *, int *>(T2)",
		"void at::native::elementwise_kernel<128, 2, at::native::gpu_kernel_impl<at::native::direct_copy_kernel_cuda>>(int, T3)",
	}
	var list []work
	for i := range n {
		list = append(list, b.kernel(small[i%len(small)], 1.5, apiLaunch))
	}
	return list
}

// exchange returns one all-to-all among the ranks.
func (b *modelBuilder) exchange(what string, scale float64) []work {
	prepare := b.kernel("void tensorrt_llm::kernels::mnnvl_throughput::moeA2APrepare"+what+"Kernel(int, int)", 1.6, apiLaunch)
	w := b.kernel("void tensorrt_llm::kernels::mnnvl_throughput::moeA2A"+what+"Kernel<BlockPolicy, 8>(Params)", 8*scale, apiLaunch)
	w.collective = b.parallel
	return []work{prepare, w}
}

// sample returns the work that turns logits into tokens. Only the last stage has it.
func (b *modelBuilder) sample() []work {
	if !b.last {
		return nil
	}
	var list []work
	if b.c.Engine.LogitsOutside {
		list = append(list, b.lastTokens(b.logits(1))...)
	}
	for range b.c.Engine.SampleComms {
		list = append(list, b.sampleComm())
	}
	for _, k := range kernelNames[b.c.Model.Kernels].sample {
		list = append(list, b.kernel(k.name, k.mean, apiLaunch))
	}
	return append(list, work{bytes: 256, kind: 2, mean: 1.3, api: b.t.String(apiCopy)})
}

// lastTokens puts a gathering of the last tokens' hidden states before the logits, if the
// kernels are PyTorch's own.
func (b *modelBuilder) lastTokens(logits work) []work {
	if b.c.Model.Kernels == "" {
		return []work{logits}
	}
	return []work{b.named(gatherKernel, 2, apiLaunch), logits}
}

// sampleComm returns a collective of the sampler: NCCL's, whatever the layers use.
func (b *modelBuilder) sampleComm() work {
	name := "ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<(unsigned long)4096>)"
	if b.c.Engine.SampleComm == "allreduce" {
		name = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<(unsigned long)4096>)"
	}
	w := b.kernel(name, 11, apiLaunchEx)
	w.collective = b.parallel
	return w
}

// draft returns one forward pass of the draft model. Only the last stage has it.
func (b *modelBuilder) draft() []work {
	if !b.last {
		return nil
	}
	seq := []work{b.named(embedKernel, 1.8, apiLaunch)}
	attention := b.attention(0.5, false)
	attention.attention = false // runs inside the draft's own graph
	for range b.c.Draft.Layers {
		seq = b.dense(b.attend(seq, attention, 0.5), 0.5)
	}
	return joined(append(seq, b.logits(0.5),
		b.kernel("void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::ArgMaxOps<float>, unsigned int, long, 4, 4>>(T3)", 5.1, apiLaunch)))
}
