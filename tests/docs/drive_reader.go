// Folds what comes on stdin with docs/reader.go: a line is {turn: [tenant, thread, turn], frames: [JSON text, ...]},
// and the answer to it is a line with the view after each frame.
package main

import (
	"bufio"
	"encoding/json"
	"os"
)

type given struct {
	Turn   [3]string `json:"turn"`
	Frames []string  `json:"frames"`
}

type seen struct {
	Text         string          `json:"text"`
	Reply        string          `json:"reply"`
	Ended        json.RawMessage `json:"ended"`
	Contradicted bool            `json:"contradicted"`
	Steps        [][3]any        `json:"steps"`
}

func main() {
	lines := bufio.NewReader(os.Stdin)
	answers := json.NewEncoder(os.Stdout)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil && len(line) == 0 {
			return
		}
		var asked given
		must(json.Unmarshal(line, &asked))
		view := NewView(asked.Turn[0], asked.Turn[1], asked.Turn[2])
		views := []seen{}
		for _, value := range asked.Frames {
			frame, err := ParseFrame([]byte(value))
			must(err)
			view.Fold(frame)
			now := seen{Text: view.Text(), Reply: view.Reply(), Contradicted: view.Contradicted(), Steps: [][3]any{}}
			if view.Ended != nil {
				now.Ended = view.Ended.Raw
			}
			for _, number := range view.numbers() {
				one := view.steps[number]
				now.Steps = append(now.Steps, [3]any{number, one.attempt, string(one.chars)})
			}
			views = append(views, now)
		}
		must(answers.Encode(views))
	}
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
