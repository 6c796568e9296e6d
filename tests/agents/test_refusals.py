"""What servers mean by refusing a request, in the words they use."""

import pytest

from agentgym.chat.refusals import Refusal, read_refusal

TOO_LONG = [
    (400, {"code": "context_length_exceeded"}, "This model's maximum context length is 8192"),
    (400, {"code": "context_length_exceeded"}, "Your input exceeds the context window of this"),
    (400, {}, "This model's maximum context length is 4096 tokens. However, you requested 5000"),
    (400, {}, "The decoder prompt (length 5000) is longer than the maximum model length of 4096."),
    (400, {}, "The input (40000 tokens) is longer than the model's context length (32768 tokens)."),
    (400, {"type": "invalid_request_error"}, "prompt is too long: 9000 tokens > 8000 maximum"),
    (400, {}, "input length and `max_tokens` exceed context limit: 199000 + 8000 > 200000"),
    (413, {"type": "request_too_large"}, "Request exceeds the maximum size"),
    (400, {}, "The input token count (1200000) exceeds the maximum number of tokens allowed"),
    (400, {}, "Prompt contains 40000 tokens, too large for model with 32768 maximum context"),
    (429, {"code": "rate_limit_exceeded"}, "Request too large for gpt-4 on tokens per min"),
    (422, {}, "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096"),
    (400, {}, "Please reduce the length of the messages or completion."),
    (400, {}, "This model's maximum prompt length is 131072 but the request contains 140000"),
    (400, {}, "Input is too long for requested model."),
    (400, {"code": "invalid_parameter_error"}, "Range of input length should be [1, 30720]"),
    (500, {"type": "exceed_context_size_error"}, "the request exceeds the available context size"),
    (None, {"code": 400}, "Requested token count exceeds the model's maximum context length"),
]
FILTERED = [
    (400, {"code": "content_filter"}, "The response was filtered"),
    (400, {"innererror": {"code": "ResponsibleAIPolicyViolation"}}, "The prompt triggered"),
    (400, {"code": "data_inspection_failed"}, "Input data may contain inappropriate content."),
    (400, {}, "Invalid prompt: your prompt was flagged as potentially violating our usage policy"),
    (400, {"type": "content_policy_violation"}, "rejected as a result of our safety system"),
]
UNREADABLE = [
    (400, {"code": "tool_use_failed"}, "Failed to call a function. See 'failed_generation'"),
    (400, {"code": "json_validate_failed"}, "Failed to generate JSON."),
    (500, {}, 'error parsing tool call: raw=\'{"note": "my quota"\', err=unexpected end'),
    (500, {"type": "server_error"}, "Failed to parse input at pos 12: <tool_call>"),
    (500, {}, "The model produced output that does not match the expected peg-native format"),
    (500, {}, "[json.exception.type_error.316] invalid UTF-8 byte at index 4: 0xE2"),
]
OTHER = [
    (400, {}, "Unsupported value: 'temperature' does not support 0"),
    (400, {"code": "invalid_api_key"}, "Incorrect API key provided"),
    (400, {}, "Your credit balance is too low to access the API."),
    (401, {}, "context length unknown: no key"),
    (403, {}, "your account was flagged"),
    (404, {}, "The model `gpt-x` does not exist"),
    (413, {"code": "rate_limit_exceeded"}, "Request too large on tokens per minute (TPM)"),
    (429, {}, "error parsing tool call: tokens per min"),
    (429, {"code": "rate_limit_exceeded"}, "Rate limit reached for gpt-4 on tokens per min (TPM)"),
    (500, {}, "The server had an error: content filter is down"),
    (503, {}, "overloaded"),
    (400, None, ""),
    (400, ["odd"], "messages[2].content must be a string"),
]


@pytest.mark.parametrize(
    ("said", "meant"),
    [(row, meant)
     for meant, rows in zip(Refusal, (TOO_LONG, FILTERED, UNREADABLE, OTHER), strict=True)
     for row in rows],
)  # fmt: skip
def test_a_refusal_is_understood(said, meant):
    assert read_refusal(*said) is meant
