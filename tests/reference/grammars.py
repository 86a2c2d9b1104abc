"""grammars.py: grammars beside llama.cpp's: which tokens may come next, at each step of random walks: grammars.py DRIVE
TOKENIZER.json VOCABULARY.gguf [WALKS [OUT.json]].  DRIVE is tests/grammar/grammar_drive.c, and both files have the same
vocabulary.  OUT gets texts over bytes, with what llama.cpp says of each: 0 refused, 1 it may go on, 2 it is whole."""
import ctypes
import json
import random
import subprocess
import sys

import llama_cpp as llama

GRAMMARS = {
    "json": r'''
root ::= object
value ::= object | array | string | number | ("true" | "false" | "null") ws
object ::= "{" ws ( string ":" ws value ("," ws string ":" ws value)* )? "}" ws
array ::= "[" ws ( value ("," ws value)* )? "]" ws
string ::= "\"" ( [^"\\\x7F\x00-\x1F] | "\\" (["\\bfnrt] | "u" [0-9a-fA-F]{4}) )* "\"" ws
number ::= ("-"? ([0-9] | [1-9] [0-9]{0,15})) ("." [0-9]+)? ([eE] [-+]? [0-9] [1-9]{0,15})? ws
ws ::= | " " | "\n" [ \t]{0,20}
''',
    "arithmetic": r'''
root  ::= (expr "=" ws term "\n")+
expr  ::= term ([-+*/] term)*
term  ::= ident | num | "(" ws expr ")" ws
ident ::= [a-z] [a-z0-9_]* ws
num   ::= [0-9]+ ws
ws    ::= [ \t\n]*
''',
    "list": r'''
root ::= item+
# a line of a list
item ::= "- " [^\r\n\x0b\x0c\x85\u2028\u2029]+ "\n"
''',
    "chess": r'''
root ::= "1. " move " " move "\n" ([1-9] [0-9]? ". " move " " move "\n")+
move ::= (pawn | nonpawn | castle) [+#]?
nonpawn ::= [NBKQR] [a-h]? [1-8]? "x"? [a-h] [1-8]
pawn ::= ([a-h] "x")? [a-h] [1-8] ("=" [NBKQR])?
castle ::= "O-O" "-O"?
''',
    "c": r'''
root ::= (declaration)*
declaration ::= dataType identifier "(" parameter? ")" "{" statement* "}"
dataType ::= "int" ws | "float" ws | "char" ws
identifier ::= [a-zA-Z_] [a-zA-Z_0-9]*
parameter ::= dataType identifier
statement ::=
    ( dataType identifier ws "=" ws expression ";" ) |
    ( identifier ws "=" ws expression ";" ) |
    ( "return" ws expression ";" ) |
    ( "while" "(" condition ")" "{" statement* "}" )
condition ::= expression relation expression
relation ::= "<=" | "<" | "==" | "!=" | ">=" | ">"
expression ::= term (("+" | "-") term)*
term ::= factor (("*" | "/") factor)*
factor ::= identifier | number | "-" factor | "(" expression ")"
number ::= [0-9]+
ws ::= ([ \t\n]+)
''',
    "japanese": r'''
root ::= jp-char+ ([ \t\n] jp-char+)*
jp-char ::= [ぁ-ゟ] | [ァ-ヿ] | [！-～] | [、-〾] | [一-龯]
''',
    "any": 'root ::= "\\u00e9"{1,3} . [^\\U0001F600-\\U0001F64F]{2,} "\\"end"?\n',
}


class Drive:
    def __init__(self, *command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, **what):
        self.process.stdin.write(json.dumps(what) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())


class Theirs:
    """llama.cpp's sampler of a grammar over a vocabulary."""

    def __init__(self, path):
        how = llama.llama_model_default_params()
        how.vocab_only = True
        self.model = llama.llama_model_load_from_file(path.encode(), how)
        self.vocab = llama.llama_model_get_vocab(self.model)
        self.size = llama.llama_vocab_n_tokens(self.vocab)
        self.data = (llama.llama_token_data * self.size)()
        self.ends = [k for k in range(self.size) if llama.llama_vocab_is_eog(self.vocab, k)]

        room = ctypes.create_string_buffer(512)
        lengths = [(llama.llama_token_to_piece(self.vocab, k, room, 512, 0, True), room.raw) for k in range(self.size)]
        self.bytes = [text[:max(0, n)] for n, text in lengths]

    def begin(self, grammar):
        self.sampler = llama.llama_sampler_init_grammar(self.vocab, grammar.encode(), b"root")
        assert self.sampler

    def next(self):
        for k in range(self.size):
            self.data[k].id, self.data[k].logit = k, 0.0
        all_ = llama.llama_token_data_array(ctypes.cast(self.data, ctypes.POINTER(llama.llama_token_data)), self.size, -1, False)
        llama.llama_sampler_apply(self.sampler, ctypes.byref(all_))
        return {self.data[k].id for k in range(self.size) if self.data[k].logit > float("-inf")}

    def accept(self, id_):
        llama.llama_sampler_accept(self.sampler, id_)


def unfinished(text):
    """Whether bytes end within a character of UTF-8."""
    try:
        text.decode()
    except UnicodeDecodeError as e:
        return e.reason == "unexpected end of data"
    return False


def text_of(theirs, ids):
    """Their text, if it can be recorded."""
    try:
        return b"".join(theirs.bytes[i] for i in ids).decode()
    except UnicodeDecodeError:
        return None


def walk(theirs, drive, random_, steps, times, halves, texts):
    """Compares what may come after each token of a random text; returns the number of steps and the first difference.
    llama.cpp refuses the beginning of a character if a class leaves out any character that begins so; those, which may go
    on, are counted in halves, with those that have a zero, at which it stops reading.  texts gets what can be recorded."""
    ids = []
    for n in range(steps):
        mine, wanted = drive.ask(ids=ids), theirs.next()
        times.append(mine["us"])
        ends = bool(wanted & set(theirs.ends))
        wanted -= set(theirs.ends)
        found = set(mine["next"]) - set(theirs.ends)
        strict = {k for k in found - wanted if b"\0" in theirs.bytes[k] or unfinished(b"".join(theirs.bytes[i] for i in ids + [k]))}
        halves |= strict
        found -= strict
        if found != wanted or mine["ends"] != ends:
            return n, {"ids": ids, "missing": sorted(wanted - found)[:9], "more": sorted(found - wanted)[:9], "ends": [mine["ends"], ends]}
        refused = random_.randrange(theirs.size)
        for text, verdict in (text_of(theirs, ids), 1 + ends), (text_of(theirs, ids + [refused]), 0):
            if text and "\0" not in text and (verdict or (theirs.bytes[refused] and refused not in wanted | halves and refused not in theirs.ends)):
                texts.setdefault(text, verdict)
        if not wanted:
            return n, None
        id_ = random_.choice(sorted(wanted))
        theirs.accept(id_)
        ids.append(id_)
    return steps, None


def main():
    drive, theirs = Drive(sys.argv[1], sys.argv[2]), Theirs(sys.argv[3])
    walks = int(sys.argv[4]) if len(sys.argv) > 4 else 20
    wrong, recorded = 0, []
    for name, grammar in GRAMMARS.items():
        steps, times, halves, texts = 0, [], set(), {}
        random_ = random.Random(name)
        drive.ask(gbnf=grammar)
        for _ in range(walks):
            theirs.begin(grammar)
            n, fault = walk(theirs, drive, random_, 12, times, halves, texts)
            steps += n
            if fault:
                wrong += 1
                print(name, "differs:", fault)
        times.sort()
        recorded.append([grammar, dict(list(texts.items())[:60])])
        print(f"{name}: {walks} walks, {steps} steps, {len(halves)} tokens that llama.cpp refuses though they may go on; "
              f"a token {times[len(times) // 2]:.0f} us in the middle, {times[-1]:.0f} at most")
    if len(sys.argv) > 5:
        with open(sys.argv[5], "w") as out:
            out.writelines(json.dumps(one, ensure_ascii=False) + "\n" for one in recorded)
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
