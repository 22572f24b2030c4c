"""Directories that sentence-transformers and transformers save, each with a key that changes what the library answers."""
from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import transformers
from sentence_transformers import CrossEncoder, MultiVectorEncoder, SentenceTransformer, SparseEncoder
from sentence_transformers.base.modules import Dense, Normalize, Router, Transformer
from sentence_transformers.multi_vector_encoder.modules import MultiVectorMask
from sentence_transformers.sentence_transformer.modules import (
    CNN,
    LSTM,
    BoW,
    Dropout,
    LayerNorm,
    Pooling,
    StaticEmbedding,
    WeightedLayerPooling,
)
from sentence_transformers.sparse_encoder.modules import SpladePooling

from tests.clients.libraries.tiny_models import (
    WIDTH,
    bert_tokenizer,
    byte_tokenizer,
    edit,
    randomise,
    remove,
    save_model,
    special_token,
    word_end_tokenizer,
)

Change = Callable[[Path], None]  # Writes a directory, or changes one.

SENTENCE_BERT = "sentence_bert_config.json"
MODEL_CONFIG = "config_sentence_transformers.json"
TOKENIZER_CONFIG = "tokenizer_config.json"

# A text is a user's message, and a prompt a system message.
FLAT = ("{% for m in messages %}{% if m.role == 'system' %}[CLS] {{ m.content }} [SEP] {% else %}{% if loop.first %}[CLS] {% endif %}"
        "text : {{ m.content }} [SEP]{% endif %}{% endfor %}")
PAIR = ("[CLS] {% for m in messages %}{% if m.role == 'query' %}query : {{ m.content }} [SEP] {% elif m.role == 'document' %}"
        "passage : {{ m.content }} [SEP] {% elif m.role == 'system' %}{{ m.content }} [SEP] {% endif %}{% endfor %}is it ? [SEP]")
CHAT = ("{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
        "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}")
STRUCTURED = ("{% for m in messages %}<|im_start|>{{ m.role }}\n{% for part in m.content %}{% if part.type == 'text' %}{{ part.text }}"
              "{% endif %}{% endfor %}<|im_end|>\n{% endfor %}<|im_start|>assistant\n")
RERANK = ("<|im_start|>system\n{{ messages | selectattr('role', 'eq', 'system') | map(attribute='content') | first | default('Judge.') }}<|im_end|>\n"
          "<|im_start|>user\nQuery: {{ messages | selectattr('role', 'eq', 'query') | map(attribute='content') | first }}\n"
          "Document: {{ messages | selectattr('role', 'eq', 'document') | map(attribute='content') | first }}<|im_end|>\n"
          "<|im_start|>assistant\n")
TASK = "{% for m in messages %}[CLS] {{ task | default('no task') }} : {{ m.content }} [SEP]{% endfor %}"


@dataclass(frozen=True)
class Saved:
    """`without` takes what is tried back. The library's answers have to be others then: otherwise nothing is tried."""

    save: Change
    without: Change | None = None
    may_be_refused: str | None = None


FOLLOWED: dict[str, Saved] = {}  # The service has to answer what the library does.
REFUSED: dict[str, tuple[Change, str]] = {}  # The service must not start, and says this.


def followed(without: Change | None = None, may_be_refused: str | None = None) -> Callable[[Change], Change]:
    """`may_be_refused`: a pattern of the message if the start is refused, which is as good as an equal answer."""
    def add(save: Change) -> Change:
        FOLLOWED[save.__name__] = Saved(save, without, may_be_refused)
        return save

    return add


def refused(message: str) -> Callable[[Change], Change]:
    def add(save: Change) -> Change:
        REFUSED[save.__name__] = (save, message)
        return save

    return add


def without_keys(file: str, *keys: str) -> Change:
    return lambda directory: remove(directory / file, *keys)


def with_values(file: str, **values: Any) -> Change:
    return lambda directory: edit(directory / file, **values)


def without_messages(directory: Path) -> None:
    """Texts are given to the tokenizer as they are."""
    path = directory / SENTENCE_BERT
    config = json.loads(path.read_text())
    del config["modality_config"]["message"]
    path.write_text(json.dumps(config))


def save_embedder(
    out: Path,
    tokenizer: transformers.PreTrainedTokenizerBase | None = None,
    *,
    model: str = "BertModel",
    template: str | None = None,
    transformer: dict[str, Any] | None = None,
    pooling: str | Sequence[str] = "mean",
    modules: Sequence[torch.nn.Module] = (),
    options: dict[str, Any] | None = None,
    include_prompt: bool = True,
    **config: Any,
) -> None:
    tokenizer = tokenizer or bert_tokenizer()
    tokenizer.chat_template = template
    with tempfile.TemporaryDirectory() as base:
        save_model(Path(base), model, tokenizer, **config)
        first = Transformer(base, **(transformer or {}))
        pool = Pooling(WIDTH, pooling, include_prompt=include_prompt)
        SentenceTransformer(modules=[first, pool, *modules], device="cpu", **(options or {})).save_pretrained(str(out), create_model_card=False)


def save_cross_encoder(
    out: Path,
    tokenizer: transformers.PreTrainedTokenizerBase | None = None,
    *,
    model: str = "BertForSequenceClassification",
    template: str | None = None,
    transformer: dict[str, Any] | None = None,
    options: dict[str, Any] | None = None,
    **config: Any,
) -> None:
    tokenizer = tokenizer or bert_tokenizer()
    tokenizer.chat_template = template
    with tempfile.TemporaryDirectory() as base:
        save_model(Path(base), model, tokenizer, **{"num_labels": 1, **config})
        first = Transformer(base, transformer_task="sequence-classification", **(transformer or {}))
        CrossEncoder(modules=[first], device="cpu", **(options or {})).save_pretrained(str(out), create_model_card=False)


def save_classifier(out: Path, **config: Any) -> None:
    save_model(out, "BertForSequenceClassification", bert_tokenizer(), **config)


def random(module: torch.nn.Module) -> torch.nn.Module:
    randomise(module)
    return module


# Embedders.


@followed()
def embedder(out: Path) -> None:
    save_embedder(out, modules=[Normalize()], options={"prompts": {"query": "query: ", "document": "passage: "}})


@followed(without_messages)
def embedder_with_messages(out: Path) -> None:
    save_embedder(out, template=FLAT, modules=[Normalize()], options={"prompts": {"query": "find what answers", "document": ""}})


@followed(without_messages)
def causal_embedder_with_messages(out: Path) -> None:
    """The longest text is cut, and the template's end is written over the last tokens that are left."""
    save_embedder(out, byte_tokenizer(), model="Qwen3Model", template=STRUCTURED, pooling="lasttoken", modules=[Normalize()],
                  options={"prompts": {"query": "Find what answers."}})


@followed(without_keys(SENTENCE_BERT, "processing_kwargs"))
def embedder_without_the_end_of_the_template(out: Path) -> None:
    save_embedder(out, byte_tokenizer(), model="Qwen3Model", template=STRUCTURED, pooling="lasttoken",
                  transformer={"processing_kwargs": {"chat_template": {"restore_suffix": False}}})


@followed(without_keys(SENTENCE_BERT, "processing_kwargs"))
def embedder_with_a_generation_prompt(out: Path) -> None:
    save_embedder(out, byte_tokenizer(), model="Qwen3Model", template=CHAT, pooling="lasttoken",
                  transformer={"processing_kwargs": {"chat_template": {"add_generation_prompt": True}}})


@followed(without_messages)
def embedder_whose_template_reads_the_task(out: Path) -> None:
    save_embedder(out, template=TASK)


@followed(without_keys(SENTENCE_BERT, "processing_kwargs"))
def embedder_with_a_length_of_processing(out: Path) -> None:
    save_embedder(out, transformer={"processing_kwargs": {"text": {"max_length": 12, "truncation": True}}})


@followed(without_keys(SENTENCE_BERT, "processing_kwargs"))
def embedder_without_special_tokens(out: Path) -> None:
    save_embedder(out, transformer={"processing_kwargs": {"text": {"add_special_tokens": False}}})


@followed(without_keys(SENTENCE_BERT, "processing_kwargs"))
def embedder_that_cuts_nothing(out: Path) -> None:
    """The model has positions for the longest text."""
    tokenizer = bert_tokenizer()
    tokenizer.model_max_length = 24
    save_embedder(out, tokenizer, max_position_embeddings=2048, transformer={"processing_kwargs": {"text": {"truncation": False}}})


@followed(without_keys(SENTENCE_BERT, "query_length"))
def embedder_with_a_length_of_queries(out: Path) -> None:
    save_embedder(out, transformer={"query_length": 8})


@followed(without_keys(SENTENCE_BERT, "document_length"))
def embedder_with_a_length_of_documents(out: Path) -> None:
    save_embedder(out, transformer={"query_length": 30, "document_length": 9})


@followed(without_keys(SENTENCE_BERT, "processing_kwargs"))
def embedder_with_all_lengths(out: Path) -> None:
    save_embedder(out, transformer={"query_length": 8, "document_length": 20, "processing_kwargs": {"text": {"max_length": 14}}})


@followed(without_keys(SENTENCE_BERT, "query_expansion"), may_be_refused="query_expansion")
def embedder_that_expands_queries(out: Path) -> None:
    save_embedder(out, pooling="max", transformer={"query_expansion": {"strategy": "fixed", "attend": True, "length": 32}})


@followed(without_keys(SENTENCE_BERT, "config_args"), may_be_refused="config_args")
def embedder_with_arguments_of_the_configuration(out: Path) -> None:
    save_embedder(out)
    edit(out / SENTENCE_BERT, config_args={"layer_norm_eps": 0.5})


@followed(without_keys(SENTENCE_BERT, "config_kwargs"), may_be_refused="config_kwargs")
def embedder_with_further_arguments_of_the_configuration(out: Path) -> None:
    save_embedder(out)
    edit(out / SENTENCE_BERT, config_kwargs={"hidden_act": "relu"})


@followed(without_keys(SENTENCE_BERT, "tokenizer_args"), may_be_refused="tokenizer_args")
def embedder_with_arguments_of_the_tokenizer(out: Path) -> None:
    save_embedder(out)
    edit(out / SENTENCE_BERT, tokenizer_args={"model_max_length": 15, "truncation_side": "left"})


@followed(without_keys(SENTENCE_BERT, "processor_kwargs"), may_be_refused="processor_kwargs")
def embedder_with_further_arguments_of_the_tokenizer(out: Path) -> None:
    save_embedder(out)
    edit(out / SENTENCE_BERT, processor_kwargs={"do_lower_case": False})


@followed(with_values(SENTENCE_BERT, max_seq_length=100))
def embedder_of_an_old_version(out: Path) -> None:
    save_embedder(out)
    (out / SENTENCE_BERT).write_text(json.dumps({"max_seq_length": 14, "do_lower_case": False}))


@followed(with_values(SENTENCE_BERT, do_lower_case=False))
def embedder_that_lowers(out: Path) -> None:
    save_embedder(out, bert_tokenizer(do_lower_case=False))
    edit(out / SENTENCE_BERT, do_lower_case=True)


@followed(may_be_refused="method_output_name|module_output_name|without a Pooling module")
def embedder_of_the_pooler(out: Path) -> None:
    with tempfile.TemporaryDirectory() as base:
        save_model(Path(base), "BertModel", bert_tokenizer())
        first = Transformer(base, modality_config={"text": {"method": "forward", "method_output_name": "pooler_output"}},
                            module_output_name="sentence_embedding")
        SentenceTransformer(modules=[first, Normalize()], device="cpu").save_pretrained(str(out), create_model_card=False)


@followed(with_values(SENTENCE_BERT, modality_config={"text": {"method": "forward", "method_output_name": "last_hidden_state"}}),
          may_be_refused="method_output_name")
def embedder_of_an_inner_layer(out: Path) -> None:
    save_embedder(out, transformer={"modality_config": {"text": {"method": "forward", "method_output_name": ["hidden_states", 1]}},
                                    "module_output_name": "token_embeddings"})


@followed(with_values("1_Pooling/config.json", pooling_mode=["cls", "mean"]))
def poolings_in_their_order(out: Path) -> None:
    save_embedder(out, pooling=["mean", "cls"])


@followed()
def poolings_that_repeat(out: Path) -> None:
    save_embedder(out, pooling=["cls", "cls"], modules=[Normalize()])


@followed(with_values("1_Pooling/config.json", pooling_mode=["mean", "max", "lasttoken", "mean"]))
def many_poolings(out: Path) -> None:
    save_embedder(out, pooling=["max", "lasttoken", "mean", "lasttoken"])


@followed(with_values("1_Pooling/config.json", include_prompt=True))
def embedder_that_leaves_prompts_out(out: Path) -> None:
    save_embedder(out, include_prompt=False, options={"prompts": {"query": "query: ", "document": "passage: "}})


@followed()
def embedder_with_more_modules(out: Path) -> None:
    modules = [random(Dense(WIDTH, 20, activation_function=torch.nn.Tanh())), random(Dense(20, 24, bias=False, activation_function=torch.nn.Identity())),
               Dropout(), Normalize()]
    save_embedder(out, modules=modules, options={"truncate_dim": 16})


@followed()
def embedder_with_a_layer_norm(out: Path) -> None:
    save_embedder(out, modules=[random(LayerNorm(WIDTH))])


@followed(with_values(MODEL_CONFIG, similarity_fn_name="cosine"))
def embedder_with_dot_products(out: Path) -> None:
    save_embedder(out, options={"similarity_fn_name": "dot"})


@followed(with_values(MODEL_CONFIG, similarity_fn_name="cosine"), may_be_refused="similarity_fn_name")
def embedder_with_euclidean_distances(out: Path) -> None:
    save_embedder(out, options={"similarity_fn_name": "euclidean"})


@followed(with_values(MODEL_CONFIG, similarity_fn_name="cosine"), may_be_refused="similarity_fn_name")
def embedder_with_manhattan_distances(out: Path) -> None:
    save_embedder(out, options={"similarity_fn_name": "manhattan"})


@followed()
def embedder_with_a_default_prompt_without_a_text(out: Path) -> None:
    save_embedder(out, options={"default_prompt_name": "query"})
    edit(out / MODEL_CONFIG, prompts={})


@followed(with_values(MODEL_CONFIG, default_prompt_name=None))
def embedder_with_a_default_prompt(out: Path) -> None:
    save_embedder(out, options={"default_prompt_name": "text", "prompts": {"text": "text: "}})


@followed()
def encoder_without_modules(out: Path) -> None:
    save_model(out, "BertForMaskedLM", bert_tokenizer())


@followed(lambda out: (out / "chat_template.jinja").unlink())
def encoder_without_modules_with_messages(out: Path) -> None:
    tokenizer = bert_tokenizer()
    tokenizer.chat_template = FLAT
    save_model(out, "BertModel", tokenizer)


# Tokenizers.


@followed(with_values(TOKENIZER_CONFIG, truncation_side="right"))
def tokenizer_that_cuts_the_left_side(out: Path) -> None:
    save_embedder(out, bert_tokenizer(truncation_side="left"), transformer={"query_length": 10})


@followed(with_values(TOKENIZER_CONFIG, split_special_tokens=False))
def tokenizer_that_splits_special_tokens(out: Path) -> None:
    save_embedder(out, bert_tokenizer(split_special_tokens=True))


@followed(with_values(TOKENIZER_CONFIG, do_lower_case=False))
def tokenizer_that_lowers(out: Path) -> None:
    save_embedder(out, bert_tokenizer(do_lower_case=False))
    edit(out / TOKENIZER_CONFIG, do_lower_case=True)


@followed(with_values(TOKENIZER_CONFIG, do_lower_case=True))
def tokenizer_that_does_not_lower(out: Path) -> None:
    save_embedder(out)
    edit(out / TOKENIZER_CONFIG, do_lower_case=False)


@followed(with_values(TOKENIZER_CONFIG, strip_accents=None))
def tokenizer_that_keeps_accents(out: Path) -> None:
    save_embedder(out, bert_tokenizer(strip_accents=False))
    edit(out / "tokenizer.json", normalizer={"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True,
                                             "strip_accents": None, "lowercase": True})


@followed(with_values(TOKENIZER_CONFIG, tokenize_chinese_chars=True))
def tokenizer_that_joins_chinese_characters(out: Path) -> None:
    save_embedder(out)
    edit(out / TOKENIZER_CONFIG, tokenize_chinese_chars=False)


@followed(without_keys(TOKENIZER_CONFIG, "extra_special_tokens"))
def tokenizer_with_a_token_that_tokenizer_json_lacks(out: Path) -> None:
    """Its text is in one of the built-in texts."""
    save_embedder(out)
    edit(out / TOKENIZER_CONFIG, extra_special_tokens=["<|im_start|>", "<|endoftext|>"])


@followed(with_values(TOKENIZER_CONFIG, added_tokens_decoder={}))
def tokenizer_with_an_added_token_that_tokenizer_json_lacks(out: Path) -> None:
    tokenizer = bert_tokenizer()
    save_embedder(out, tokenizer)
    token = {"content": "<|im_end|>", "lstrip": False, "rstrip": False, "normalized": False, "single_word": False, "special": True}
    edit(out / TOKENIZER_CONFIG, added_tokens_decoder={str(len(tokenizer)): token})


@followed(with_values(TOKENIZER_CONFIG, mask_token="[MASK]"))
def tokenizer_with_another_mask(out: Path) -> None:
    save_embedder(out)
    edit(out / TOKENIZER_CONFIG, mask_token="<|im_end|>")


@followed()
def tokenizer_with_more_tokens(out: Path) -> None:
    tokenizer = bert_tokenizer()
    tokenizer.add_tokens([special_token("<|im_start|>"), special_token("<|im_end|>"), "bluer"])
    save_embedder(out, tokenizer)


@followed()
def tokenizer_whose_words_end(out: Path) -> None:
    save_embedder(out, word_end_tokenizer())


@followed()
def tokenizer_without_a_decoder(out: Path) -> None:
    save_embedder(out, byte_tokenizer(), model="Qwen3Model", pooling="lasttoken")
    edit(out / "tokenizer.json", decoder=None)


@followed()
def tokenizer_with_a_gap_of_ids(out: Path) -> None:
    tokenizer = byte_tokenizer()
    save_embedder(out, tokenizer, model="Qwen3Model")
    path = out / "tokenizer.json"
    content = json.loads(path.read_text())
    content["added_tokens"].append({"id": len(tokenizer) + 3, "content": "<|endoftext|>", "single_word": False, "lstrip": False, "rstrip": False,
                                    "normalized": False, "special": True})
    path.write_text(json.dumps(content))


# Cross-encoders.


@followed()
def cross_encoder(out: Path) -> None:
    save_cross_encoder(out)


@followed(with_values(MODEL_CONFIG, activation_fn="torch.nn.modules.activation.Sigmoid"))
def cross_encoder_of_logits(out: Path) -> None:
    save_cross_encoder(out, options={"activation_fn": torch.nn.Identity()})


@followed()
def cross_encoder_whose_scores_are_all_one(out: Path) -> None:
    """Scores of different documents are the same number, so that only the logits tell their order."""
    save_cross_encoder(out)
    model = transformers.BertForSequenceClassification.from_pretrained(out)
    model.classifier.weight.data *= 40
    model.classifier.bias.data += 200
    model.save_pretrained(out)


@followed(with_values(MODEL_CONFIG, default_prompt_name=None))
def cross_encoder_with_a_prompt(out: Path) -> None:
    save_cross_encoder(out, options={"prompts": {"find": "query: "}, "default_prompt_name": "find"})


@followed(without_messages)
def cross_encoder_with_messages(out: Path) -> None:
    save_cross_encoder(out, template=PAIR)


@followed(without_messages)
def cross_encoder_with_messages_and_a_prompt(out: Path) -> None:
    save_cross_encoder(out, template=PAIR, options={"prompts": {"find": "find what answers"}, "default_prompt_name": "find"})


@followed(without_keys(SENTENCE_BERT, "processing_kwargs"))
def cross_encoder_with_a_length_of_processing(out: Path) -> None:
    save_cross_encoder(out, transformer={"processing_kwargs": {"text": {"max_length": 20}}})


@followed(without_keys(SENTENCE_BERT, "processing_kwargs"))
def cross_encoder_with_a_length_of_all_processing(out: Path) -> None:
    save_cross_encoder(out, transformer={"processing_kwargs": {"common": {"max_length": 20}, "text": {"max_length": 30}}})


@followed(without_keys(SENTENCE_BERT, "processing_kwargs"))
def cross_encoder_that_cuts_documents_only(out: Path) -> None:
    save_cross_encoder(out, transformer={"processing_kwargs": {"text": {"max_length": 40, "truncation": "only_second"}}})


@followed(with_values(TOKENIZER_CONFIG, model_input_names=["input_ids", "token_type_ids", "attention_mask"]))
def cross_encoder_without_token_types(out: Path) -> None:
    save_cross_encoder(out, bert_tokenizer(model_input_names=["input_ids", "attention_mask"]))
    edit(out / TOKENIZER_CONFIG, model_input_names=["input_ids", "attention_mask"])


@followed(with_values(TOKENIZER_CONFIG, tokenizer_class="BertTokenizer"))
def cross_encoder_with_a_tokenizer_of_no_class(out: Path) -> None:
    save_cross_encoder(out)
    edit(out / TOKENIZER_CONFIG, tokenizer_class="TokenizersBackend")


@followed(with_values(TOKENIZER_CONFIG, truncation_side="right"))
def cross_encoder_that_cuts_the_left_side(out: Path) -> None:
    tokenizer = bert_tokenizer(truncation_side="left")
    tokenizer.model_max_length = 24
    save_cross_encoder(out, tokenizer)


@followed()
def cross_encoder_with_a_layer_in_float32(out: Path) -> None:
    save_cross_encoder(out, options={"keep_in_fp32_modules": ["0.model.classifier"]})


@followed()
def cross_encoder_of_a_decoder(out: Path) -> None:
    """The tokenizer's pair, for which there is no template."""
    save_cross_encoder(out, byte_tokenizer(), model="Qwen3ForSequenceClassification")


@followed()
def cross_encoder_of_a_decoder_with_bos(out: Path) -> None:
    save_cross_encoder(out, byte_tokenizer(adds_bos=True), model="LlamaForSequenceClassification")


@followed(without_messages)
def cross_encoder_of_a_decoder_with_messages(out: Path) -> None:
    save_cross_encoder(out, byte_tokenizer(), model="Qwen3ForSequenceClassification", template=RERANK)


def save_logit_score(out: Path, **options: Any) -> None:
    tokenizer = byte_tokenizer()
    tokenizer.chat_template = RERANK
    with tempfile.TemporaryDirectory() as base:
        save_model(Path(base), "Qwen3ForCausalLM", tokenizer, tie_word_embeddings=True)
        CrossEncoder(base, device="cpu", **options).save_pretrained(str(out), create_model_card=False)


@followed(without_messages)
def cross_encoder_of_a_language_model(out: Path) -> None:
    save_logit_score(out)


@followed(with_values(MODEL_CONFIG, default_prompt_name=None))
def cross_encoder_of_a_language_model_with_an_instruction(out: Path) -> None:
    save_logit_score(out, prompts={"web": "Does the document answer the query?"}, default_prompt_name="web", activation_fn=torch.nn.Identity())


@followed()
def cross_encoder_of_one_label(out: Path) -> None:
    """The score is a logit, not the difference of two."""
    save_logit_score(out, activation_fn=torch.nn.Identity())
    edit(out / "1_LogitScore" / "config.json", false_token_id=None)


def save_modular(out: Path, pooling: str, activation: torch.nn.Module, **options: Any) -> None:
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=bert_tokenizer().backend_tokenizer, model_max_length=96,
                                                     model_input_names=["input_ids", "attention_mask"], unk_token="[UNK]", pad_token="[PAD]",
                                                     cls_token="[CLS]", sep_token="[SEP]", mask_token="[MASK]")
    with tempfile.TemporaryDirectory() as base:
        save_model(Path(base), "ModernBertModel", tokenizer, num_hidden_layers=3, global_attn_every_n_layers=2, local_attention=16,
                   max_position_embeddings=96, bos_token_id=2, eos_token_id=3, cls_token_id=2, sep_token_id=3)
        modules = [Transformer(base), Pooling(WIDTH, pooling), random(Dense(WIDTH, 24, bias=False, activation_function=activation)), random(LayerNorm(24)),
                   random(Dense(24, 1, activation_function=torch.nn.Identity(), module_output_name="scores"))]
        CrossEncoder(modules=modules, device="cpu", **options).save_pretrained(str(out), create_model_card=False)


@followed()
def modular_cross_encoder(out: Path) -> None:
    save_modular(out, "cls", torch.nn.GELU(), activation_fn=torch.nn.Identity())


@followed()
def modular_cross_encoder_with_a_mean(out: Path) -> None:
    save_modular(out, "mean", torch.nn.SiLU(), prompts={"find": "query: "}, default_prompt_name="find")


@followed()
def cross_encoder_with_classes(out: Path) -> None:
    save_cross_encoder(out, num_labels=3)


# Classifiers.


@followed()
def classifier(out: Path) -> None:
    save_classifier(out, num_labels=3)


@followed(without_keys("config.json", "problem_type"))
def classifier_with_several_labels_at_once(out: Path) -> None:
    save_classifier(out, id2label={0: "toxic", 1: "obscene", 2: "threat"}, problem_type="multi_label_classification")


@followed(without_keys("config.json", "problem_type"))
def regression(out: Path) -> None:
    save_classifier(out, num_labels=1, problem_type="regression")


@followed(without_keys("config.json", "problem_type"))
def regression_of_several_numbers(out: Path) -> None:
    save_classifier(out, num_labels=2, problem_type="regression")


@followed()
def classifier_whose_classes_are_numbers(out: Path) -> None:
    save_classifier(out, num_labels=3)
    edit(out / "config.json", id2label={"0": 1, "1": 2, "2": 5}, label2id={"1": 0, "2": 1, "5": 2})


@followed()
def classifier_of_a_decoder(out: Path) -> None:
    save_model(out, "Qwen3ForSequenceClassification", byte_tokenizer(), num_labels=3)


@followed()
def classifier_of_a_decoder_with_one_class(out: Path) -> None:
    save_model(out, "Qwen3ForSequenceClassification", byte_tokenizer(), num_labels=1)


@followed()
def classifier_of_a_decoder_with_one_class_and_a_template(out: Path) -> None:
    """A reranker, whose pairs go through the template. Texts do not."""
    tokenizer = byte_tokenizer()
    tokenizer.chat_template = RERANK
    save_model(out, "Qwen3ForSequenceClassification", tokenizer, num_labels=1)


# Language models.


@followed()
def language_model(out: Path) -> None:
    save_model(out, "Qwen3ForCausalLM", byte_tokenizer())


@followed()
def language_model_with_bos(out: Path) -> None:
    save_model(out, "LlamaForCausalLM", byte_tokenizer(adds_bos=True))


# Models that are refused by the name of a module or class.


def save_modules(out: Path, *modules: torch.nn.Module) -> None:
    SentenceTransformer(modules=list(modules), device="cpu").save_pretrained(str(out), create_model_card=False)


@refused("WeightedLayerPooling")
def weighted_layers(out: Path) -> None:
    with tempfile.TemporaryDirectory() as base:
        save_model(Path(base), "BertModel", bert_tokenizer(), output_hidden_states=True)
        save_modules(out, Transformer(base), WeightedLayerPooling(WIDTH, num_hidden_layers=2, layer_start=1), Pooling(WIDTH))


@refused("Router")
def router(out: Path) -> None:
    with tempfile.TemporaryDirectory() as base:
        save_model(Path(base), "BertModel", bert_tokenizer())
        routes = {"query_modules": [Transformer(base), Pooling(WIDTH)], "document_modules": [Transformer(base), Pooling(WIDTH, "cls")]}
        save_modules(out, Router.for_query_document(**routes), Normalize())


@refused("StaticEmbedding")
def static_embedding(out: Path) -> None:
    save_modules(out, StaticEmbedding(bert_tokenizer(), embedding_dim=16))


@refused("BoW")
def bag_of_words(out: Path) -> None:
    save_modules(out, BoW(["bread", "sky", "key"]))


@refused("CNN")
def convolution(out: Path) -> None:
    with tempfile.TemporaryDirectory() as base:
        save_model(Path(base), "BertModel", bert_tokenizer())
        save_modules(out, Transformer(base), CNN(WIDTH, 16, [1, 3]), Pooling(32))


@refused("LSTM")
def recurrence(out: Path) -> None:
    with tempfile.TemporaryDirectory() as base:
        save_model(Path(base), "BertModel", bert_tokenizer())
        save_modules(out, Transformer(base), LSTM(WIDTH, 16), Pooling(32))


@refused("SparseEncoder")
def sparse_encoder(out: Path) -> None:
    with tempfile.TemporaryDirectory() as base:
        save_model(Path(base), "BertForMaskedLM", bert_tokenizer())
        modules = [Transformer(base, transformer_task="fill-mask"), SpladePooling("max")]
        SparseEncoder(modules=modules, device="cpu").save_pretrained(str(out), create_model_card=False)


@refused("SpladePooling")
def modules_of_a_sparse_encoder(out: Path) -> None:
    sparse_encoder(out)
    remove(out / MODEL_CONFIG, "model_type")


@refused("MLMTransformer")
def modules_of_a_sparse_encoder_of_version_5(out: Path) -> None:
    modules_of_a_sparse_encoder(out)
    path = out / "modules.json"
    modules = json.loads(path.read_text())
    modules[0]["type"] = "sentence_transformers.sparse_encoder.models.MLMTransformer"
    path.write_text(json.dumps(modules))


@refused("MultiVectorEncoder|MultiVectorMask")
def multi_vector_encoder(out: Path) -> None:
    with tempfile.TemporaryDirectory() as base:
        save_model(Path(base), "BertModel", bert_tokenizer())
        modules = [Transformer(base, query_length=20, document_length=60), random(Dense(WIDTH, 16, bias=False, activation_function=torch.nn.Identity(),
                                                                                       module_input_name="token_embeddings")),
                   MultiVectorMask(), Normalize(module_input_name="token_embeddings")]
        MultiVectorEncoder(modules=modules, device="cpu").save_pretrained(str(out), create_model_card=False)


@refused("mean_sqrt_len_tokens")
def mean_over_the_root_of_the_length(out: Path) -> None:
    save_embedder(out, pooling="mean_sqrt_len_tokens")


@refused("weightedmean")
def weighted_mean(out: Path) -> None:
    save_embedder(out, pooling="weightedmean")


@refused("use_residual")
def dense_with_a_residual(out: Path) -> None:
    save_embedder(out, modules=[random(Dense(WIDTH, WIDTH, use_residual=True))])


@refused("sentence_bert_config.json.*no_such_key|no_such_key.*sentence_bert_config.json")
def unknown_key(out: Path) -> None:
    save_embedder(out)
    edit(out / SENTENCE_BERT, no_such_key=1)
