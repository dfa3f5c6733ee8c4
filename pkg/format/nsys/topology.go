package nsys

import (
	"encoding/json"
	"slices"
)

// An export lists where CPUs and GPUs are among all of the machine's environment. Only
// the rows named here are read.

// systemTable has pairs of names and values that describe the machine.
const systemTable = "TARGET_INFO_SYSTEM_ENV"

// maxCPUs and maxPlace bound the numbers of CPUs, and of sockets and NUMA nodes.
const (
	maxCPUs  = 1 << 13
	maxPlace = 1 << 10
)

// cpuInfo is the value of the pair CpuInfo. Only exports since 2026.4 have NUMA nodes.
type cpuInfo struct {
	Items []struct {
		CPU    *int `json:"cpuid"`
		Socket *int `json:"socket"`
		Node   *int `json:"NumaNodeId"`
	} `json:"items"`
}

// readTopology reads the socket and NUMA node of each CPU.
func (c *capture) readTopology(s scanner, columns map[string][]string) error {
	var info cpuInfo
	err := eachPair(s, columns, systemTable, func(name, value string) {
		if name == "CpuInfo" && json.Unmarshal([]byte(value), &info) != nil {
			info = cpuInfo{} // unknown format
		}
	})
	if err != nil {
		return err
	}
	for _, at := range info.Items {
		if at.CPU == nil || *at.CPU < 0 || *at.CPU >= maxCPUs {
			continue
		}
		c.info.Sockets = place(c.info.Sockets, *at.CPU, at.Socket)
		c.info.Nodes = place(c.info.Nodes, *at.CPU, at.Node)
	}
	return nil
}

// place sets the place of a CPU in a list indexed by CPU; an unknown place is ignored.
func place(list []int32, cpu int, at *int) []int32 {
	if at == nil || *at < 0 || *at >= maxPlace {
		return list
	}
	list = grown(list, int32(cpu), -1)
	list[cpu] = int32(*at)
	return list
}

// placeGPUs sets the NUMA nodes of each rank's GPUs, if all of them are known.
func (r *report) placeGPUs() {
	for slot := range r.info.RankFacts {
		var nodes []int32
		for _, t := range r.tracks {
			if t.slot != int32(slot) || !t.active {
				continue
			}
			gpu, known := r.machine.gpus[cudaDevice{t.process.pid(), int64(t.shown)}]
			node, ok := r.machine.gpuNodes[gpu]
			if !known || !ok {
				nodes = nil
				break
			}
			nodes = append(nodes, node)
		}
		slices.Sort(nodes)
		r.info.RankFacts[slot].GPUNodes = slices.Compact(nodes)
	}
}
