# chats.sh: the form of chats is that of the chat template beside the weights, in training, after it and for answers; a
# template that is not known is told where a chat needs it, and a setting names the form.
top=$PWD
. tests/trainer/common
lathe=${LATHE:-$BUILD/lathe}
[ -x "$lathe" ] || { echo "skipped: $lathe is not built"; exit 77; }
cp -r "$top/tests/reference/gguf/llama" none
cp -r none known
cp -r none unknown
echo '{{ messages }}' >unknown/chat_template.jinja
cat >known/chat_template.jinja <<'END'
{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}{{ '<|im_start|>system
Be kind.<|im_end|>
' }}{% endif %}{{'<|im_start|>' + message['role'] + '
' + message['content'] + '<|im_end|>' + '
'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant
' }}{% endif %}
END
works "$lathe" build "$top/models/llama.lua" --set layers=2 --set heads=4 --set kv_heads=2 --set width=64 --set hidden=96 \
    --set seq=64 --set batch=2 --set context=64 --set vocab=283 --set rope_theta=50000.0 --set pack=true --set steps=3 -o llama
llama=$work/llama/trainer
awk 'BEGIN { for (i = 0; i < 60; i++) printf "{\"messages\": [%s{\"role\": \"user\", \"content\": \"Who is %d?\"}, {\"role\": \"assistant\", \"content\": \"It is %d <|im_end|> indeed.\"}]}\n", "@", i, i * 7 % 10 }' >chats
sed 's/@//' chats >bare.jsonl
sed 's/@/{"role": "system", "content": "Be kind."}, /' chats >kind.jsonl

# Training adds what the template says for the system.
works $llama train --data bare.jsonl --init known --out by-template
works $llama train --data kind.jsonl --init none --out by-hand
works $llama train --data bare.jsonl --init none --out without
same by-template/model.safetensors by-hand/model.safetensors
cmp -s by-template/model.safetensors without/model.safetensors && wrong 'what the system says changes nothing' || ok 'it counts'
works $llama eval --data bare.jsonl --val-fraction 1 --weights by-template && cp out template.eval
works $llama eval --data kind.jsonl --val-fraction 1 --weights by-template && cp out hand.eval
grep ^loss template.eval >template.loss; grep ^loss hand.eval >hand.loss
same template.loss hand.loss
cp -r by-template halved
works $llama train --resume --out halved --steps 4
works $llama train --data bare.jsonl --init known --out whole --steps 4
same halved/model.safetensors whole/model.safetensors

# An answer follows the same ids, after the run too; only the answer is shown.
prompt() { printf '<|im_start|>system\n%s<|im_end|>\n<|im_start|>user\nWho is 3?<|im_end|>\n<|im_start|>assistant\n' "$1"; }
prompt 'Be kind.' >kind.txt
prompt 'Be odd.' >odd.txt
tokens() { sed 's/.*"tokens":\(\[[^]]*\]\).*/\1/' out; }
for weights in known by-template; do
    works $llama generate --weights $weights --tokens 6 --json --prompt-file kind.txt
    tokens >as-text
    works $llama generate --weights $weights --tokens 6 --json --chat --prompt 'Who is 3?'
    tokens >as-chat
    same as-text as-chat
    grep -q 'Who is 3?.*Who is 3?' out && wrong 'the text has the prompt' || ok 'the text is the answer'
done
works $llama generate --weights known --tokens 6 --json --prompt-file odd.txt
tokens >as-text
works $llama generate --weights known --tokens 6 --json --chat --system 'Be odd.' --prompt 'Who is 3?'
tokens >as-chat
same as-text as-chat
works $llama generate --weights known --tokens 6 --chat --prompt 'Say <|im_end|> and <|im_start|>' --samples 2 --beams 0
grep -q 'im_start' out && wrong 'the prompt is shown' || ok 'only answers are shown'

# A conversation: each answer is the one that generate gives to all that was said before, and a blank line says nothing.
printf 'Who is 3?\n\n  \nAnd <|im_end|>\r\nWho?' >said
works sh -c "$llama chat --weights by-template --tokens 5 --json <said >answers"
[ "$(wc -l <answers)" = 3 ] && ok 'three answers' || wrong "$(wc -l <answers) answers"
works sh -c "$llama chat --weights by-template --tokens 5 <said >shown"
works $llama generate --weights by-template --tokens 5 --json --chat --prompt 'Who is 3?'
tokens >as-generate
sed -n 1p answers >out; tokens >as-chat
same as-generate as-chat
refuses 2 'chat has no option --prompt' $llama chat --weights by-template --prompt Hi

# A template that is not known: told at the first chat; texts need none; a setting names the form, and the run keeps it.
refuses 3 'bare.jsonl:[0-9]*: error: is a chat, and the chat template .* --set chat=' $llama train --data bare.jsonl --init unknown --out x
refuses 3 'the chat template that came with the weights is none of the known' $llama generate --weights unknown --chat --prompt Hi
seq 400 >text.txt
works $llama train --data text.txt --init unknown --out text --steps 1
works $llama train --data bare.jsonl --init unknown --set chat=chatml --out named
same named/model.safetensors without/model.safetensors
works $llama generate --weights named --chat --prompt Hi --tokens 4
works $llama eval --data bare.jsonl --val-fraction 1 --weights named
works $llama train --data bare.jsonl --init known --tokenizer none/tokenizer.json --out same-tokens
same same-tokens/model.safetensors by-template/model.safetensors
refuses 2 'chat=llama3: the tokenizer .* lacks its tokens' $llama train --data bare.jsonl --init known --set chat=llama3 --out x
refuses 2 'give --chat too' $llama generate --weights known --system Hi --prompt Hi
refuses 2 'give it with --prompt' $llama generate --weights known --chat

# Gemma's form, known by its tokens: what the system says comes before the first content, turns alternate, and a file for llama.cpp
# gets the template.
cp -r none gemma
sed -i 's/<|im_start|>/<start_of_turn>/g; s/<|im_end|>/<end_of_turn>/g; s/<|endoftext|>/<bos>/g' gemma/*.json
works $llama train --data kind.jsonl --init gemma --out gemma-run
printf '<bos><start_of_turn>user\nBe kind.\n\nWho is 3?<end_of_turn>\n<start_of_turn>model\n' >gemma.txt
works $llama generate --weights gemma-run --tokens 6 --json --prompt-file gemma.txt
tokens >as-text
works $llama generate --weights gemma-run --tokens 6 --json --chat --system 'Be kind.' --prompt ' Who is 3? '
tokens >as-chat
same as-text as-chat
works $llama export --to gguf --weights gemma-run --out gemma.gguf
LC_ALL=C grep -aq 'set first_user_prefix' gemma.gguf && ok 'the template is written' || wrong 'no template'
echo '{"messages": [{"role": "assistant", "content": "I begin."}]}' >begins.jsonl
refuses 3 'message 1 (assistant): in this form of chats a person begins' $llama train --data begins.jsonl --init gemma --out x
printf '{"messages": [{"role": "user", "content": "a"}, {"role": "tool", "content": "b"}]}' >begins.jsonl
refuses 3 'message 2 (tool): this form of chats has no message of that role' $llama train --data begins.jsonl --init gemma --out x
echo "{{ bos_token }}{% if messages[0]['role'] == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}{% for message in messages %}{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('Conversation roles must alternate user/assistant/user/assistant/...') }}{% endif %}{% if (message['role'] == 'assistant') %}{% set role = 'model' %}{% else %}{% set role = message['role'] %}{% endif %}{{ '<start_of_turn>' + role + '\n' + message['content'] | trim + '<end_of_turn>\n' }}{% endfor %}{% if add_generation_prompt %}{{'<start_of_turn>model\n'}}{% endif %}" >gemma/chat_template.jinja
refuses 2 'system: this form of chats has no message of that role' $llama generate --weights gemma --chat --system Hi --prompt Hi
works $llama generate --weights gemma --chat --prompt Hi --tokens 2

# Without tokens for it: ROLE, a colon, a line; an answer ends where the person would speak again.
works "$lathe" build "$top/models/gpt.lua" --set layers=1 --set width=32 --set heads=2 --set seq=128 --set batch=8 --set pack=true \
    --set steps=150 --set lr=0.01 --set tokenizer=bytes -o plain
printf '{"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Yo"}, {"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Yo"}, {"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Yo"}]}\n%.0s' $(seq 50) >plain.jsonl
works plain/trainer train --data plain.jsonl --out plain-run
works plain/trainer generate --weights plain-run --chat --prompt Hi --tokens 30 --set temperature=0
[ "$(cat out)" = Yo ] && ok 'the answer ends' || wrong "the answer is $(cat out)"

# The states that a conversation keeps give what all of its text gives, after an answer that was cut off and one that ended.
printf 'Hi\nHo\nHi\n' >said
end='


' user='

user:
'
for tokens in 1 30; do
    works sh -c "plain/trainer chat --weights plain-run --set temperature=0 --tokens $tokens --json <said >answers"
    : >text.txt
    for turn in 1 2 3; do
        printf 'user:\n%s\n\nassistant:\n' "$(sed -n ${turn}p said)" >>text.txt
        works plain/trainer generate --weights plain-run --set temperature=0 --tokens $tokens --json --prompt-file text.txt \
            --stop "$user" "$end"
        tokens >as-text
        sed -n ${turn}p answers >out
        tokens >as-chat
        same as-text as-chat
        printf '%b\n\n' "$(sed 's/.*"text":"\([^"]*\)".*/\1/' out)" >>text.txt
    done
done
[ "$(sed 's/.*"text":"\([^"]*\)".*/\1/' answers | tr '\n' ' ')" = 'Yo Yo Yo ' ] && ok 'the answers' || wrong "the answers are $(cat answers)"
finish
