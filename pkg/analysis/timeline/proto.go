package timeline

import (
	"bufio"
	"fmt"
	"io"

	"google.golang.org/protobuf/encoding/protowire"
)

// Numbers of the fields that are written, of the messages in Perfetto's
// protos/perfetto/trace: trace.proto, trace_packet.proto, interned_data.proto and those
// in track_event.
const (
	tracePacket = 1 // Trace.packet

	packetTimestamp    = 8
	packetSequence     = 10 // trusted_packet_sequence_id
	packetTrackEvent   = 11
	packetInterned     = 12
	packetFlags        = 13 // sequence_flags
	packetDescriptor   = 60 // track_descriptor
	flagCleared        = 1  // SEQ_INCREMENTAL_STATE_CLEARED
	flagNeedsState     = 2  // SEQ_NEEDS_INCREMENTAL_STATE
	internedCategories = 1  // event_categories
	internedNames      = 2  // event_names
	internedKeys       = 3  // debug_annotation_names
	internedID         = 1  // of each of these
	internedText       = 2

	descriptorID     = 1
	descriptorName   = 2
	descriptorParent = 5
	descriptorOrder  = 11 // child_ordering
	descriptorRank   = 12 // sibling_order_rank
	orderExplicit    = 3

	eventCategory = 3
	eventArg      = 4 // debug_annotations
	eventType     = 9
	eventName     = 10
	eventTrack    = 11
	eventFlow     = 47 // flow_ids
	eventFlowEnd  = 48 // terminating_flow_ids
	sliceBegin    = 1
	sliceEnd      = 2

	argKey  = 1 // name_iid
	argInt  = 4
	argText = 6
)

// Write writes steps as a Perfetto trace.
func Write(w io.Writer, t *Timeline) error {
	p := protoWriter{out: bufio.NewWriter(w), ids: map[string]uint64{}}
	p.packet(message{}.number(packetFlags, flagCleared))
	id := uint64(0)
	for _, g := range layout(t) {
		id++
		parent := id
		p.descriptor(message{}.number(descriptorID, id).text(descriptorName, fmt.Sprintf("rank %d", g.rank)).
			number(descriptorOrder, orderExplicit).number(descriptorRank, uint64(g.rank)))
		for k := range g.tracks {
			id++
			track := &g.tracks[k]
			p.descriptor(message{}.number(descriptorID, id).text(descriptorName, track.name).
				number(descriptorParent, parent).number(descriptorRank, uint64(k)))
			p.track(id, track.slices)
		}
	}
	return p.out.Flush()
}

// message is an encoded message.
type message []byte

func (m message) number(field protowire.Number, v uint64) message {
	return protowire.AppendVarint(protowire.AppendTag(m, field, protowire.VarintType), v)
}

func (m message) fixed(field protowire.Number, v uint64) message {
	return protowire.AppendFixed64(protowire.AppendTag(m, field, protowire.Fixed64Type), v)
}

func (m message) text(field protowire.Number, s string) message {
	return protowire.AppendString(protowire.AppendTag(m, field, protowire.BytesType), s)
}

func (m message) sub(field protowire.Number, v message) message {
	return protowire.AppendBytes(protowire.AppendTag(m, field, protowire.BytesType), v)
}

// protoWriter writes the packets of a trace, as one sequence.
type protoWriter struct {
	out      *bufio.Writer
	ids      map[string]uint64 // of strings that were interned, each kind with its own letter ahead
	interned message           // strings that the next packet brings
}

// packet writes a packet. Errors are those of Flush.
func (p *protoWriter) packet(m message) {
	m = m.number(packetSequence, 1)
	p.out.Write(message{}.sub(tracePacket, m))
}

func (p *protoWriter) descriptor(m message) { p.packet(message{}.sub(packetDescriptor, m)) }

// id returns the number of a string of a kind, one of the fields of InternedData.
func (p *protoWriter) id(kind protowire.Number, s string) uint64 {
	key := string(rune('0'+kind)) + s
	n, ok := p.ids[key]
	if !ok {
		n = uint64(len(p.ids) + 1)
		p.ids[key] = n
		p.interned = p.interned.sub(kind, message{}.number(internedID, n).text(internedText, s))
	}
	return n
}

// event writes an event at a time.
func (p *protoWriter) event(at int64, m message) {
	packet := message{}.number(packetTimestamp, uint64(at)).number(packetFlags, flagNeedsState).sub(packetTrackEvent, m)
	if len(p.interned) > 0 {
		packet = packet.sub(packetInterned, p.interned)
		p.interned = nil
	}
	p.packet(packet)
}

// track writes slices that nest: the end of each before what begins at that time.
func (p *protoWriter) track(id uint64, slices []slice) {
	var open []int64 // ends
	end := func(until int64) {
		for len(open) > 0 && open[len(open)-1] <= until {
			p.event(open[len(open)-1], message{}.number(eventType, sliceEnd).number(eventTrack, id))
			open = open[:len(open)-1]
		}
	}
	for i := range slices {
		s := &slices[i]
		end(s.start)
		p.event(s.start, p.begin(id, s))
		open = append(open, s.end)
	}
	end(1<<63 - 1)
}

// begin is the event of a slice that begins.
func (p *protoWriter) begin(track uint64, s *slice) message {
	m := message{}.number(eventType, sliceBegin).number(eventTrack, track).
		number(eventCategory, p.id(internedCategories, s.category)).number(eventName, p.id(internedNames, s.name))
	for _, a := range s.args {
		v := message{}.number(argKey, p.id(internedKeys, a.key))
		if a.text != "" {
			v = v.text(argText, a.text)
		} else {
			v = v.number(argInt, uint64(a.ns))
		}
		m = m.sub(eventArg, v)
	}
	if s.out != 0 {
		m = m.fixed(eventFlow, s.out)
	}
	if s.in != 0 {
		m = m.fixed(eventFlowEnd, s.in)
	}
	return m
}
