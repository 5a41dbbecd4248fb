# SPDX-License-Identifier: Apache-2.0
"""Encoders of text."""
import transformers as t

from making.model import Model, ids, mask
from making.transformer import Plain

SIZES = ({"batch": 2, "seq": 11}, {"batch": 1, "seq": 1})
TEXT = {"input_ids": ids("batch", "seq"), "attention_mask": mask("batch", "seq")}
TYPED = TEXT | {"token_type_ids": ids("batch", "seq", below=2)}
SMALL = dict(vocab_size=97, hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
             intermediate_size=64, max_position_embeddings=64, attn_implementation="eager")
STATE = ["last_hidden_state"]


def encoder(kind, inputs=TEXT, results=STATE, **config):
    def build():
        configuration = getattr(t, kind + "Config")(**(SMALL | config))
        name = kind + ("Model" if results == STATE else results[0])
        model = getattr(t, name)(configuration)
        return Plain(model, list(inputs), STATE if results == STATE else results[1:])
    return build


def distilbert():
    config = t.DistilBertConfig(vocab_size=97, dim=32, n_layers=2, n_heads=4, hidden_dim=64,
                                max_position_embeddings=64, attn_implementation="eager")
    return Plain(t.DistilBertForSequenceClassification(config), list(TEXT), ["logits"])


MODELS = [
    Model("bert", encoder("Bert", TYPED), TYPED,
          ("legacy17", "legacy17.open", "dynamo20", "dynamo20.open", "dynamo23.open",
           "legacy17.open.dynamic", "legacy17.qdq", "legacy17.qoperator_unsigned",
           "legacy17.open.fp16", "dynamo20.bfloat", "legacy17.extended",
           "legacy17.open.fused_bert"), SIZES),
    Model("bert_sdpa", encoder("Bert", TYPED, attn_implementation="sdpa"), TYPED,
          ("dynamo23.open", "dynamo20"), SIZES),
    Model("bert_classifier", encoder("Bert", TYPED, ["ForSequenceClassification", "logits"]), TYPED,
          ("legacy17.open.extended",), SIZES),
    Model("distilbert", distilbert, TEXT, ("legacy17.open", "dynamo20.open", "legacy17.half"),
          SIZES),
    Model("roberta", encoder("Roberta", pad_token_id=1), TEXT, ("legacy17.open", "dynamo23"),
          SIZES),
    Model("albert", encoder("Albert", embedding_size=16), TEXT, ("legacy20.open", "dynamo20.open"),
          SIZES),
    Model("electra", encoder("Electra", embedding_size=16), TEXT,
          ("legacy17.open", "dynamo20.half"), SIZES),
    Model("deberta", encoder("DebertaV2", relative_attention=True, position_buckets=8,
                             pos_att_type=["p2c", "c2p"], norm_rel_ebd="layer_norm",
                             share_att_key=True), TEXT, ("legacy17", "dynamo20"), SIZES),
    Model("mpnet", encoder("MPNet"), TEXT, ("legacy17.open", "dynamo20"), SIZES),
    Model("modernbert", encoder("ModernBert", local_attention=4, global_attn_every_n_layers=2,
                                pad_token_id=0, reference_compile=False), TEXT,
          ("legacy17.open", "dynamo23"), SIZES),
    Model("fnet", encoder("FNet"), {"input_ids": ids("batch", "seq")}, ("legacy17",), SIZES),
    Model("xlm_roberta", encoder("XLMRoberta", attn_implementation="sdpa", pad_token_id=1), TEXT,
          ("dynamo20.open", "legacy17.open.dynamic"), SIZES),
    Model("layoutlm_masked", encoder("Bert", TYPED, ["ForMaskedLM", "logits"]), TYPED,
          ("legacy17.open.half", "dynamo23.open.bfloat"), SIZES),
]
MODELS[-3] = Model("fnet", lambda: Plain(t.FNetModel(t.FNetConfig(
    vocab_size=97, hidden_size=32, num_hidden_layers=2, intermediate_size=64,
    max_position_embeddings=64)), ["input_ids"], STATE), {"input_ids": ids("batch", "seq")},
    ("dynamo20",), SIZES)
