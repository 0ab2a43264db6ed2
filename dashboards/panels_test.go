package dashboards

import (
	"encoding/json"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// panelTexts are the texts of the panels in one language: key to the forms of its text.
func panelTexts(t *testing.T, language string) map[string][]string {
	t.Helper()
	raw, err := fs.ReadFile(Live(), "i18n/panels."+language+".json")
	if err != nil {
		t.Fatal(err)
	}
	var texts map[string]any
	if err := json.Unmarshal(raw, &texts); err != nil {
		t.Fatalf("%s: %v", language, err)
	}
	forms := make(map[string][]string, len(texts))
	for key, text := range texts {
		switch text := text.(type) {
		case string:
			forms[key] = []string{text}
		case map[string]any:
			if _, ok := text["other"].(string); !ok {
				t.Errorf("%s: %s has no form other", language, key)
			}
			for _, form := range text {
				forms[key] = append(forms[key], form.(string))
			}
		default:
			t.Errorf("%s: %s is neither a text nor a text with forms", language, key)
		}
	}
	return forms
}

// panelModules are the panels' modules by name.
func panelModules(t *testing.T) map[string]string {
	t.Helper()
	modules := map[string]string{}
	entries, err := fs.ReadDir(Live(), "js/panels")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		raw, err := fs.ReadFile(Live(), path.Join("js/panels", e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		modules[e.Name()] = string(raw)
	}
	return modules
}

var placeholder = regexp.MustCompile(`\{(\w+)\}`)

// variables are the names that a text takes, each once and sorted, over all its forms.
func variables(forms []string) []string {
	var names []string
	for _, form := range forms {
		for _, match := range placeholder.FindAllStringSubmatch(form, -1) {
			names = append(names, match[1])
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func TestThePanelsSayTheSameInBothLanguages(t *testing.T) {
	english, chinese := panelTexts(t, "en"), panelTexts(t, "zh")
	for key := range chinese {
		if english[key] == nil {
			t.Errorf("%s is in Chinese only", key)
		}
	}
	for key, forms := range english {
		if chinese[key] == nil {
			t.Errorf("%s is in English only", key)
			continue
		}
		// A form for one thing may leave its number out; nothing else may differ.
		without := func(names []string) []string {
			return slices.DeleteFunc(names, func(name string) bool { return name == "n" })
		}
		if e, c := without(variables(forms)), without(variables(chinese[key])); !slices.Equal(e, c) {
			t.Errorf("%s takes %v in English and %v in Chinese", key, e, c)
		}
	}
}

var (
	literal = regexp.MustCompile("[\"`](p\\.[\\w.]+(?:\\$\\{[^`]*?\\}[\\w.]*)*)[\"`]")
	// A key may be put together by two inserts, the second of which is a condition with quotes of its own.
	composed = regexp.MustCompile("`(p\\.[\\w.]+)\\$\\{")
	insert   = regexp.MustCompile(`\$\{[^}]*\}`)
)

func TestEachTextOfThePanelsIsThereAndIsUsed(t *testing.T) {
	texts := panelTexts(t, "en")
	used := map[string]bool{}
	for name, module := range panelModules(t) {
		for _, match := range literal.FindAllStringSubmatch(module, -1) {
			pattern := "^" + insert.ReplaceAllString(regexp.QuoteMeta(insert.ReplaceAllString(match[1], "\x00")), "") + "$"
			pattern = strings.ReplaceAll(pattern, "\x00", `[\w.]+`)
			says, found := regexp.MustCompile(pattern), false
			for key := range texts {
				if says.MatchString(key) {
					used[key], found = true, true
				}
			}
			if !found {
				t.Errorf("%s says %s, and there is no such text", name, match[1])
			}
		}
		for _, match := range composed.FindAllStringSubmatch(module, -1) {
			for key := range texts {
				if strings.HasPrefix(key, match[1]) {
					used[key] = true
				}
			}
		}
	}
	for key := range texts {
		if !used[key] {
			t.Errorf("no panel says %s", key)
		}
	}
}

// Whatever callers call themselves is text on an operator's page, and never markup.
func TestThePanelsWriteNoMarkup(t *testing.T) {
	for name, module := range panelModules(t) {
		for _, word := range []string{"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "DOMParser", "setAttribute(\"style\"", "http://", "https://"} {
			if strings.Contains(module, word) {
				t.Errorf("%s has %s", name, word)
			}
		}
	}
}

// The login page is let run by the hashes of its one script and its one style sheet.
func TestTheLoginPageLoadsNothing(t *testing.T) {
	page := string(Login())
	for _, part := range []string{"<script>", "</script>", "<style>", "</style>"} {
		if n := strings.Count(page, part); n != 1 {
			t.Errorf("%s is there %d times, want 1", part, n)
		}
	}
	for _, word := range []string{" style=", " onclick=", " onsubmit=", " src=", "http://", "https://", "innerHTML", "action="} {
		if strings.Contains(page, word) {
			t.Errorf("the page has %q", word)
		}
	}
	for _, id := range []string{"login-token", "login-submit", "lang"} {
		if !strings.Contains(page, `data-testid="`+id+`"`) {
			t.Errorf("the page has no %s", id)
		}
	}
}

// The page speaks Chinese as README.zh-CN.md does: one word for one thing, wherever it is shown.
func TestTheChineseOfThePageHasOneWordForOneThing(t *testing.T) {
	texts := map[string]string{"login.html": string(Login())}
	for _, name := range []string{"i18n/zh.json", "i18n/panels.zh.json"} {
		raw, err := fs.ReadFile(Live(), name)
		if err != nil {
			t.Fatal(err)
		}
		texts[name] = string(raw)
	}
	for name, text := range texts {
		text = strings.ReplaceAll(text, "突发容量", "") // a bucket's burst, which is no surge
		for word, want := range map[string]string{"突发": "突增", "席": "名额", "资源池": "池", "处理中\"": "在途", "运维": "操作员", "配额": "额度"} {
			if strings.Contains(text, word) {
				t.Errorf("%s has %s, want %s", name, word, want)
			}
		}
	}
}
