/** Chat templates in the shapes that models ship, written for these tests. */

export const CHATML =
  "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + '\\n'}}{% endfor %}" +
  "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}";

/** System prompt folded into the first user turn, alternation enforced, special tokens from the tokenizer. */
export const LLAMA2_LIKE = `{% if messages[0]['role'] == 'system' -%}
  {%- set rest = messages[1:] %}
  {%- set system = '<<SYS>>\\n' + messages[0]['content'].strip() + '\\n<</SYS>>\\n\\n' %}
{%- else -%}
  {%- set rest = messages %}
  {%- set system = '' %}
{%- endif -%}
{%- for message in rest -%}
  {%- if (message['role'] == 'user') != (loop.index0 % 2 == 0) -%}
    {{- raise_exception('Conversation roles must alternate user/assistant/...') -}}
  {%- endif -%}
  {%- if message['role'] == 'user' -%}
    {{- bos_token + '[INST] ' + (system if loop.first else '') + message['content'].strip() + ' [/INST]' -}}
  {%- elif message['role'] == 'assistant' -%}
    {{- ' ' + message['content'].strip() + ' ' + eos_token -}}
  {%- endif -%}
{%- endfor -%}`;

/** Tools as JSON lines in the system turn, tool calls in the assistant's, a namespace, a switch for thinking. */
export const QWEN_LIKE_TOOLS = `{%- if tools %}
    {{- '<|im_start|>system\\n# Tools\\n<tools>' }}
    {%- for tool in tools %}
        {{- "\\n" }}
        {{- tool | tojson }}
    {%- endfor %}
    {{- "\\n</tools><|im_end|>\\n" }}
{%- endif %}
{%- set ns = namespace(last_user=-1) %}
{%- for message in messages[::-1] %}
    {%- set index = (messages|length - 1) - loop.index0 %}
    {%- if ns.last_user < 0 and message.role == "user" %}
        {%- set ns.last_user = index %}
    {%- endif %}
{%- endfor %}
{%- for message in messages %}
    {%- if message.role == "assistant" and message.tool_calls %}
        {{- '<|im_start|>assistant' }}
        {%- for tool_call in message.tool_calls %}
            {%- if tool_call.function is defined %}
                {%- set tool_call = tool_call.function %}
            {%- endif %}
            {{- '\\n<tool_call>\\n{"name": "' + tool_call.name + '", "arguments": ' }}
            {{- tool_call.arguments | tojson }}
            {{- '}\\n</tool_call>' }}
        {%- endfor %}
        {{- '<|im_end|>\\n' }}
    {%- else %}
        {{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
    {%- if enable_thinking is defined and enable_thinking is false %}
        {{- '<think>\\n\\n</think>\\n\\n' }}
    {%- endif %}
{%- endif %}`;

/** Thinking that is kept behind the last question only, cut out of the content where no field has it, newlines stripped by name. */
export const THINKING = `{%- macro text(content) -%}
    {%- if content is string -%}
        {{- content -}}
    {%- elif content is iterable and content is not mapping -%}
        {%- for part in content -%}
            {%- if part.type == 'text' or 'text' in part -%}{{- part.text -}}{%- else -%}{{- '<|' ~ part.type ~ '|>' -}}{%- endif -%}
        {%- endfor -%}
    {%- elif content is none or content is undefined -%}
        {{- '' -}}
    {%- else -%}
        {{- raise_exception('content of an unknown type') -}}
    {%- endif -%}
{%- endmacro -%}
{%- if messages[0].role == 'system' %}
    {{- '<|im_start|>system\\n' + text(messages[0].content) + '\\n\\n' if tools else '<|im_start|>system\\n' + text(messages[0].content) + '<|im_end|>\\n' }}
{%- endif %}
{%- if tools %}
    {{- '# Tools' if messages[0].role == 'system' else '<|im_start|>system\\n# Tools' }}
    {%- for tool in tools %}
        {{- '\\n' ~ tool | tojson }}
    {%- endfor %}
    {{- '<|im_end|>\\n' }}
{%- endif %}
{%- set ns = namespace(searching=true, last=messages|length - 1) %}
{%- for message in messages[::-1] %}
    {%- set index = (messages|length - 1) - loop.index0 %}
    {%- if ns.searching and message.role == 'user' and not (text(message.content).startswith('<tool_response>') and text(message.content).endswith('</tool_response>')) %}
        {%- set ns.searching = false %}
        {%- set ns.last = index %}
    {%- endif %}
{%- endfor %}
{%- for message in messages %}
    {%- set content = text(message.content) %}
    {%- if message.role == 'user' or (message.role == 'system' and not loop.first) %}
        {{- '<|im_start|>' + message.role + '\\n' + content + '<|im_end|>' + '\\n' }}
    {%- elif message.role == 'assistant' %}
        {%- set thinking = '' %}
        {%- if message.reasoning_content is string %}
            {%- set thinking = message.reasoning_content %}
        {%- elif '</think>' in content %}
            {%- set thinking = content.split('</think>')[0].rstrip('\\n').split('<think>')[-1].lstrip('\\n') %}
            {%- set content = content.split('</think>')[-1].lstrip('\\n') %}
        {%- endif %}
        {{- '<|im_start|>' + message.role + '\\n' }}
        {%- if loop.index0 > ns.last and (loop.last or (not loop.last and thinking)) %}
            {{- '<think>\\n' + thinking.strip('\\n') + '\\n</think>\\n\\n' + content.lstrip('\\n') }}
        {%- else %}
            {{- content }}
        {%- endif %}
        {%- for call in message.tool_calls or [] %}
            {%- if (loop.first and content) or not loop.first %}{{- '\\n' }}{%- endif %}
            {%- if call.function %}{%- set call = call.function %}{%- endif %}
            {{- '<tool_call>\\n{"name": "' ~ call.name ~ '", "arguments": ' }}
            {{- call.arguments if call.arguments is string else call.arguments | tojson }}
            {{- '}\\n</tool_call>' }}
        {%- endfor %}
        {{- '<|im_end|>\\n' }}
    {%- elif message.role == 'tool' %}
        {%- if loop.first or messages[loop.index0 - 1].role != 'tool' %}{{- '<|im_start|>user' }}{%- endif %}
        {{- '\\n<tool_response>\\n' ~ content ~ '\\n</tool_response>' }}
        {%- if loop.last or messages[loop.index0 + 1].role != 'tool' %}{{- '<|im_end|>\\n' }}{%- endif %}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
    {%- if enable_thinking is defined and enable_thinking is false %}{{- '<think>\\n\\n</think>\\n\\n' }}{%- endif %}
{%- endif %}`;

/** Lines of their own around blocks, a date, tools with an indent, values printed as Python prints them, generation blocks. */
export const DATED = `{{ bos_token }}{% set date = date_string if date_string is defined else strftime_now("%d %b %Y") %}
<|header|>Today: {{ date }}
{% if tools is not none and tools %}
Tools: {{ tools | tojson(indent=2) }}
{{ tools | map(attribute='function.name') | sort | join(', ') }}
{% endif %}
{% for message in messages %}
    {# one turn #}
    {% if message['role'] == 'assistant' %}
{{ '<|a|>' }}{% generation %}{{ message['content'] | default('', true) | trim }}
        {% if message.get('tool_calls') %}
{{ message.tool_calls }}
        {% endif %}
<|end|>{% endgeneration %}

    {% else %}
<|{{ message.role | capitalize }} {{ loop.index }}/{{ loop.length }}|>{{ message.content }}<|end|>
    {% endif %}
{% else %}
nothing
{% endfor %}
{{ {'turns': messages | length, 'half': messages | length / 2, 'roles': messages | map(attribute='role') | unique | list} }}
{%+ if add_generation_prompt %}<|a|>{% endif %}
`;
