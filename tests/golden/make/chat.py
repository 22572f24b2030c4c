#!/usr/bin/env python3
"""Makes what transformers renders of conversations with chat templates.

    chat.py OUT_DIR [SHARED_DIR]
    chat.py --compare PROGRAM TEMPLATES_DIR

Needs transformers and jinja2 (made with 5.24.0 and 3.1.6). Reads OUT_DIR/templates/*.jinja, which are scorecast's own: they have
the constructs of the published templates. Writes into OUT_DIR
  conversations.jsonl  the conversations, as clients send them, with options of the rendering;
  texts.jsonl          for each template and conversation the text, or null if the template refuses the conversation;
  tokens.jsonl         with SHARED_DIR: the same for tokenizers of SHARED_DIR/golden/tokenizers and their own templates, as token
                       ids.
A content that is a list of parts is joined by line ends for templates that go through no parts, as vLLM does it. null is "".

With --compare, every template *.jinja of TEMPLATES_DIR renders every conversation, once by transformers and once by PROGRAM
(tests/coordinator/chat/render_chat); prints how many texts are equal.
"""
import json, os, re, subprocess, sys, tempfile
from transformers.utils.chat_template_utils import render_jinja_template

BOS, EOS = "<s>", "</s>"
PARTS = re.compile(r"for\s+\w+\s+in\s+(\w+\.content|\w+\[['\"]content['\"]\]|content)[\s|]")


def user(text):
    return {"role": "user", "content": text}


def assistant(text):
    return {"role": "assistant", "content": text}


def system(text):
    return {"role": "system", "content": text}


def conversations():
    yield [user("Hello")], {}
    yield [user("Hello")], {"add_generation_prompt": False}
    yield [system("Be brief."), user("What is a lamp?")], {}
    yield [user("One"), assistant("Two"), user("Three")], {}
    yield [system("  Odd\n spaces \n"), user("\n\n one \t"), assistant("  two\n\n"), user(" three  ")], {}
    yield [user("日本語のテキスト, naïve café 🎉"), assistant("\u00a0non-breaking\u2003spaces\u3000"), user("\u200bzero\x1c")], {}
    yield [user(""), assistant(""), user("")], {}
    yield [user("a"), assistant("b"), user("c"), assistant("d")], {"add_generation_prompt": False}
    yield [user("a"), assistant("<think>\nhm\n</think>\n\nyes"), user("and?"), assistant("<think>no</think>\nno")], {}
    yield [user("a"), assistant("<muse>\nhm\n</muse>\n\nyes"), user("and?"), assistant("<muse>no</muse>\n\n\nno")], {"add_generation_prompt": False}
    yield [user("Think?")], {"enable_thinking": False}
    yield [user("Think!")], {"enable_thinking": True}
    yield [user([{"type": "text", "text": " first "}, {"type": "text", "text": "second\n"}])], {}
    yield [system([{"type": "text", "text": "rules"}]), user([{"type": "text", "text": "ask"}])], {}
    yield [user("two"), user("questions")], {}
    yield [system("only rules")], {}
    yield [assistant("I begin"), user("Then I")], {}
    yield [user("She said \"yes\" \\ {{ not a tag }} {% nor this %} <b>&amp;</b>"), assistant("line\r\nends\rhere\n"), user("'single'\ttab\x07")], {}
    yield [user("What is it?"), assistant("It is ")], {"add_generation_prompt": False, "continue_final_message": True}
    yield [user("x" * 3000 + "\n" + "y " * 500), assistant("ok"), user("1234567890" * 20)], {}
    yield [system("s"), user("u1"), assistant("a1"), user("u2"), assistant("a2"), user("u3"), assistant("a3"), user("u4")], {}
    yield [user(None), assistant("null before"), user("q")], {}
    yield [dict(system("rules"), name="Rules"), dict(user("q"), name="Ann <s>"), dict(assistant("a"), reasoning_content="\nso\n", name="Bot"), user("r")], {}
    yield [user("q"), dict(assistant("a"), reasoning="thus"), user("r"), dict(assistant("b"), thinking="hence", reasoning=None), user("s")], {}


def prepared(messages, template):
    result = []
    for message in messages:
        content = message["content"]
        if content is None:
            content = ""
        if isinstance(content, list) and not PARTS.search(template):
            content = "\n".join(part["text"] for part in content)
        others = {name: value for name, value in message.items() if value is not None}
        result.append(dict(others, content=content))
    return result


def rendered(template, messages, options, tokens):
    options = dict({"add_generation_prompt": True}, **options)
    try:
        texts, _ = render_jinja_template([prepared(messages, template)], chat_template=template, **options, **tokens)
    except Exception as fault:  # raise_exception, or what the template cannot do with the conversation
        print("  refused: %s: %s" % (type(fault).__name__, str(fault)[:90].replace("\n", " ")), file=sys.stderr)
        return None
    return texts[0]


def lines(path, records):
    with open(path, "w", encoding="utf-8") as file:
        for record in records:
            file.write(json.dumps(record, ensure_ascii=False) + "\n")


def make(out, shared):
    cases = [{"messages": messages, "options": options} for messages, options in conversations()]
    lines(os.path.join(out, "conversations.jsonl"), cases)
    records = []
    for name in sorted(os.listdir(os.path.join(out, "templates"))):
        template = open(os.path.join(out, "templates", name), encoding="utf-8").read()
        texts = [rendered(template, case["messages"], case["options"], {"bos_token": BOS, "eos_token": EOS}) for case in cases]
        records.append({"template": name, "texts": texts})
    lines(os.path.join(out, "texts.jsonl"), records)
    if shared:
        make_tokens(out, shared, cases)


def make_tokens(out, shared, cases):
    from transformers import PreTrainedTokenizerFast
    records = []
    for name in ("qwen3", "llama3"):
        directory = os.path.join(shared, "golden", "tokenizers", name)
        tokenizer = PreTrainedTokenizerFast.from_pretrained(directory)
        template = tokenizer.chat_template
        if template is None:
            print("%s has no chat template" % directory, file=sys.stderr)
            continue
        ids = []
        for case in cases:
            options = dict({"add_generation_prompt": True}, **case["options"])
            try:
                encoded = tokenizer.apply_chat_template(prepared(case["messages"], template), tokenize=True, return_dict=True, **options)
                ids.append(list(encoded["input_ids"]))
            except Exception as fault:
                print("  refused: %s: %s" % (type(fault).__name__, fault), file=sys.stderr)
                ids.append(None)
        records.append({"tokenizer": name, "ids": ids})
    lines(os.path.join(out, "tokens.jsonl"), records)


def compare(program, directory):
    cases = list(conversations())
    total = equal = refused = 0
    for name in sorted(os.listdir(directory)):
        if not name.endswith(".jinja"):
            continue
        path = os.path.join(directory, name)
        template = open(path, encoding="utf-8").read()
        with tempfile.NamedTemporaryFile("w", suffix=".jsonl", encoding="utf-8") as file:
            for messages, options in cases:
                file.write(json.dumps({"messages": messages, "options": options}) + "\n")
            file.flush()
            run = subprocess.run([program, path, file.name], capture_output=True, text=True)
        if run.returncode != 0:
            print("%-60s not understood: %s" % (name, run.stderr.strip()))
            continue
        own = [json.loads(line) for line in run.stdout.splitlines()]
        same = 0
        for (messages, options), answer in zip(cases, own):
            text = rendered(template, messages, options, {"bos_token": BOS, "eos_token": EOS})
            same += text == answer.get("text")
            refused += text is None and answer.get("text") is None
            if text != answer.get("text"):
                print("  %s: %s\n    transformers: %r\n    scorecast:    %r" % (name, json.dumps(messages)[:120], text, answer))
        print("%-60s %d of %d" % (name, same, len(cases)))
        total += len(cases)
        equal += same
    print("%d of %d texts are equal, %d of them are refused by both" % (equal, total, refused))
    return 0 if equal == total else 1


if sys.argv[1] == "--compare":
    sys.exit(compare(sys.argv[2], sys.argv[3]))
make(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else None)
