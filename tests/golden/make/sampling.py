#!/usr/bin/env python3
"""Makes the reference distributions of a completion's next token.

    sampling.py OUT_FILE

Needs transformers and torch (made with 5.23.0 and 2.15.0). Writes one case a line: logits, the tokens of prompt and completion,
the fields of a request, `greedy`, the token that is chosen without drawing, and `probabilities` in float64. They are those of
transformers' logits processors, applied in vLLM's order: allowed tokens, bad words, minimum length, bias, repetition penalty;
temperature, min_p, top_k, top_p. Unlike transformers, vLLM looks for bad words in the completion only, which is therefore all
that this processor gets. transformers has no frequency_penalty and presence_penalty: they are subtracted here, as OpenAI's
documentation has it.
"""
import collections, json, random, sys
import torch
from transformers.generation.logits_process import (MinNewTokensLengthLogitsProcessor, MinPLogitsWarper, NoBadWordsLogitsProcessor,
                                                    RepetitionPenaltyLogitsProcessor, SequenceBiasLogitsProcessor,
                                                    SuppressTokensLogitsProcessor, TemperatureLogitsWarper, TopKLogitsWarper, TopPLogitsWarper)

VOCABULARY = 24
FIELDS = [
    {"repetition_penalty": 1.6}, {"repetition_penalty": 0.7}, {"presence_penalty": 1.5}, {"frequency_penalty": 0.9},
    {"frequency_penalty": -0.6, "presence_penalty": -0.5}, {"logit_bias": {"3": 2.5, "7": -3, "11": 0.5}},
    {"bad_words": [[4], [9, 2], [2, 9, 6], [5, 6]]}, {"min_tokens": 5, "end_ids": [1, 13]}, {"min_tokens": 3, "end_ids": [1, 13]},
    {"allowed": [2, 3, 5, 8, 13, 21]}, {"min_p": 0.1}, {"min_p": 0.05, "top_p": 0.8}, {"min_p": 0.02, "top_k": 9, "top_p": 0.9},
    {"top_p": 0.7}, {"top_k": 6}, {"temperature": 1.7},
    {"repetition_penalty": 1.4, "top_p": 0.75}, {"presence_penalty": 1.2, "top_k": 8}, {"frequency_penalty": 0.8, "min_p": 0.08},
    {"logit_bias": {"0": 3, "20": -100}, "top_p": 0.6, "temperature": 0.8},
    {"allowed": [1, 2, 4, 6, 9, 10, 12, 17], "repetition_penalty": 1.5, "bad_words": [[4], [9, 2]], "top_p": 0.85},
    {"repetition_penalty": 1.3, "presence_penalty": 0.4, "frequency_penalty": 0.3, "logit_bias": {"1": 4, "6": 1.5, "9": 1}, "bad_words": [[4], [9, 2]],
     "min_tokens": 6, "end_ids": [1], "temperature": 1.3, "min_p": 0.03, "top_k": 14, "top_p": 0.95},
]


def next_token(logits, prompt, generated, fields):
    ids = torch.tensor([prompt + generated])
    scores = torch.tensor([logits], dtype=torch.float64)
    if "allowed" in fields:
        scores = SuppressTokensLogitsProcessor([i for i in range(VOCABULARY) if i not in fields["allowed"]])(ids, scores)
    if "bad_words" in fields:
        scores = NoBadWordsLogitsProcessor(fields["bad_words"])(torch.tensor([generated]), scores.float()).double()
    if "min_tokens" in fields:
        scores = MinNewTokensLengthLogitsProcessor(len(prompt), fields["min_tokens"], fields["end_ids"])(ids, scores)
    if "logit_bias" in fields:
        bias = {(int(token),): float(value) for token, value in fields["logit_bias"].items()}
        scores = SequenceBiasLogitsProcessor(bias)(ids, scores.float()).double()
    if "repetition_penalty" in fields:
        scores = RepetitionPenaltyLogitsProcessor(fields["repetition_penalty"])(ids, scores)
    for token, count in collections.Counter(generated).items():
        scores[0, token] -= fields.get("frequency_penalty", 0) * count + fields.get("presence_penalty", 0)
    greedy = int(scores.argmax())
    scores = TemperatureLogitsWarper(float(fields.get("temperature", 1)))(ids, scores)
    if "min_p" in fields:
        scores = MinPLogitsWarper(fields["min_p"])(ids, scores)
    if "top_k" in fields:
        scores = TopKLogitsWarper(fields["top_k"])(ids, scores)
    if "top_p" in fields:
        scores = TopPLogitsWarper(fields["top_p"])(ids, scores)
    return greedy, scores.softmax(-1)[0].tolist()


def main():
    rng = random.Random("sampling")
    with open(sys.argv[1], "w") as out:
        for fields in FIELDS:
            # Multiples of 1/256, so that float32 has them exactly, and not too far apart for rare tokens to be drawn. No two are equal,
            # because transformers does not say which of them would be kept.
            logits = []
            while len(logits) < VOCABULARY:
                logit = round(rng.gauss(0.5, 1.2) * 256) / 256
                logits += [] if logit in logits else [logit]
            prompt = [rng.randrange(VOCABULARY) for _ in range(5)]
            generated = [6, 14, 6, 9]
            greedy, probabilities = next_token(logits, prompt, generated, fields)
            out.write(json.dumps({"logits": logits, "prompt": prompt, "generated": generated, "fields": fields, "greedy": greedy,
                                  "probabilities": probabilities}) + "\n")


main()
