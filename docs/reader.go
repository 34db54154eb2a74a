// The reader's fold: gives the same text whatever happened to a turn's released frames on their way. See wire.md.
package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Frame is what a reader needs of a record on `released`; Raw is the record's value as it came.
type Frame struct {
	V        int
	Tenant   string
	ThreadID string `json:"thread_id"`
	TurnID   string `json:"turn_id"`
	Kind     string
	Step     int
	Attempt  int
	Offset   int // in code points, as is Length
	Text     string
	Reply    *string
	Length   int
	SHA256   *string
	Response string
	Error    string
	Message  string
	Raw      []byte `json:"-"`
}

var endings = []string{"completed", "blocked", "rejected", "failed", "cancelled"}
var kinds = append([]string{"text", "reset", "postprocess-complete"}, endings...)

// ParseFrame reads a record's value; what is left out gets its default.
func ParseFrame(value []byte) (*Frame, error) {
	frame := &Frame{V: 1, Tenant: "default", Raw: value}
	if err := json.Unmarshal(value, frame); err != nil {
		return nil, err
	}
	if frame.V != 1 {
		return nil, fmt.Errorf("record version %d is not known here", frame.V)
	}
	return frame, nil
}

type piece struct {
	offset int
	chars  []rune // a rune is a code point; len of a string counts bytes
}

type step struct {
	attempt      int
	chars        []rune
	waiting      []piece
	contradicted bool
}

// View is what a reader knows of one turn. Ended is the terminal frame, once it has taken effect.
type View struct {
	Tenant, ThreadID, TurnID string
	Ended                    *Frame

	steps         map[int]*step
	postprocessed *string
	pending       *Frame
	disputed      bool
}

// NewView begins to read a turn.
func NewView(tenant, threadID, turnID string) *View {
	return &View{Tenant: tenant, ThreadID: threadID, TurnID: turnID, steps: map[int]*step{}}
}

// Text is the released text of all steps.
func (view *View) Text() string {
	var text strings.Builder
	for _, number := range view.numbers() {
		text.WriteString(string(view.steps[number].chars))
	}
	return text.String()
}

// Reply is what to show the user.
func (view *View) Reply() string {
	if view.postprocessed != nil {
		return *view.postprocessed
	}
	if view.Ended != nil && view.Ended.Kind == "blocked" {
		return view.Ended.Response
	}
	return view.Text()
}

// Contradicted tells whether frames disagree; on a partition read in order from the turn's first frame on, show nothing then.
func (view *View) Contradicted() bool {
	end := view.pending
	if view.disagrees() {
		return true
	}
	if end == nil || end.Kind != "completed" || view.Ended != nil {
		return false
	}
	return end.Reply != nil || len([]rune(view.Text())) >= end.Length
}

// Fold takes one frame in. Frames of other turns, and all that come after the end, change nothing.
func (view *View) Fold(frame *Frame) {
	mine := frame.Tenant == view.Tenant && frame.ThreadID == view.ThreadID && frame.TurnID == view.TurnID
	if view.Ended != nil || !mine || !slices.Contains(kinds, frame.Kind) {
		return
	}
	now := view.steps[frame.Step]
	if now == nil {
		now = &step{}
	}
	if frame.Attempt > now.attempt { // with or without its reset
		now = &step{attempt: frame.Attempt}
		view.steps[frame.Step] = now
	}
	switch {
	case frame.Kind == "text":
		if frame.Attempt == now.attempt {
			view.steps[frame.Step] = now
			now.place(frame.Offset, []rune(frame.Text))
		}
	case frame.Kind == "postprocess-complete":
		if view.postprocessed == nil {
			view.postprocessed = &frame.Text
		}
		view.disputed = view.disputed || *view.postprocessed != frame.Text
	case slices.Contains(endings, frame.Kind):
		if view.pending == nil {
			view.pending = frame
		}
		view.disputed = view.disputed || !bytes.Equal(view.pending.Raw, frame.Raw) // a repeat has the same bytes
	}
	if view.pending != nil && view.isComplete(view.pending) {
		view.Ended = view.pending
	}
}

func (view *View) numbers() []int {
	var found []int
	for number := range view.steps {
		found = append(found, number)
	}
	slices.Sort(found)
	return found
}

func (view *View) disagrees() bool {
	for _, one := range view.steps {
		if one.contradicted {
			return true
		}
	}
	return view.disputed
}

// place puts chars at offset: it drops what is there already, and keeps what lies past the end until the gap is filled.
func (now *step) place(offset int, chars []rune) {
	pieces := append(slices.Clone(now.waiting), piece{offset, chars})
	slices.SortStableFunc(pieces, func(a, b piece) int { return a.offset - b.offset })
	whole, late := slices.Clone(now.chars), []piece{}
	for _, one := range pieces {
		if one.offset > len(whole) {
			late = append(late, one)
			continue
		}
		known := whole[one.offset:min(len(whole), one.offset+len(one.chars))]
		if now.contradicted || !slices.Equal(known, one.chars[:len(known)]) {
			now.contradicted = true // other characters where some are already: believe no more of this attempt
			return
		}
		whole = append(whole, one.chars[len(known):]...)
	}
	now.chars, now.waiting = whole, late
}

// isComplete tells whether the ending may take effect: nothing that comes before it is missing.
func (view *View) isComplete(end *Frame) bool {
	if end.Kind != "completed" {
		now := view.steps[end.Step]
		return end.Offset == 0 || (now != nil && len(now.chars) >= end.Offset)
	}
	if view.disagrees() {
		return false
	}
	text := view.Text()
	if end.Reply == nil {
		digest := sha256.Sum256([]byte(text))
		same := end.SHA256 == nil || *end.SHA256 == hex.EncodeToString(digest[:])
		return same && len([]rune(text)) == end.Length
	}
	rest, begins := strings.CutPrefix(*end.Reply, text)
	if !begins {
		return false
	}
	last := max(end.Step, slices.Max(append(view.numbers(), 0))) // the reply has the rest of the last step's text
	now, filled := view.steps[last], &step{attempt: end.Attempt}
	if now != nil {
		*filled = *now
	}
	wanted := len(filled.chars) + len([]rune(rest))
	filled.place(len(filled.chars), []rune(rest))
	for _, other := range view.steps {
		if other != now && len(other.waiting) > 0 {
			return false
		}
	}
	if len(filled.chars) != wanted || len(filled.waiting) > 0 { // something that waited disagrees
		return false
	}
	view.steps[last] = filled
	return true
}
