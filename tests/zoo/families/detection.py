# SPDX-License-Identifier: Apache-2.0
"""Detection: boxes, and the suppression of those that overlap."""
import numpy as np
import onnx
import torch
import torchvision
import transformers as t
from onnx import TensorProto, helper, numpy_helper
from torch import nn
from torchvision.models.detection import FCOS, FasterRCNN, RetinaNet
from torchvision.models.detection.anchor_utils import AnchorGenerator
from torchvision.ops import batched_nms, box_convert, nms, roi_align

from families.cnn import block
from making.model import Model, floats
from making.transformer import Plain

IMAGE = {"image": floats(3, 64, 64)}
BATCH = {"image": floats("batch", 3, "height", "width")}
SIZES = ({"batch": 2, "height": 64, "width": 64}, {"batch": 1, "height": 32, "width": 96})


def stem(width=16):
    return nn.Sequential(block(3, width, stride=2, padding=1), block(width, width, stride=2,
                                                                     padding=1))


class Yolo(nn.Module):
    """A grid of boxes, without suppression: what most exported YOLOs are."""

    def __init__(self):
        super().__init__()
        self.stem, self.down = stem(), block(16, 24, stride=2, padding=1)
        self.heads = nn.ModuleList([nn.Conv2d(16, 27, 1), nn.Conv2d(24, 27, 1)])
        self.register_buffer("anchors", torch.tensor([[8., 8.], [16., 12.], [24., 30.]]))

    def decode(self, raw, stride):
        b, _, h, w = raw.shape
        raw = raw.view(b, 3, 9, h, w).permute(0, 1, 3, 4, 2)
        y, x = torch.meshgrid(torch.arange(h), torch.arange(w), indexing="ij")
        grid = torch.stack([x, y], -1).to(raw.dtype)
        p = raw.sigmoid()
        xy = (p[..., :2] * 2 - 0.5 + grid) * stride
        wh = (p[..., 2:4] * 2) ** 2 * self.anchors[None, :, None, None]
        return torch.cat([xy, wh, p[..., 4:]], -1).reshape(b, -1, 9)

    def forward(self, image):
        a = self.stem(image)
        b = self.down(a)
        return torch.cat([self.decode(self.heads[0](a), 4), self.decode(self.heads[1](b), 8)], 1)


class YoloNms(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = Yolo()

    def forward(self, image):
        p = self.net(image.unsqueeze(0))[0]
        boxes = box_convert(p[:, :4], "cxcywh", "xyxy")
        scores, labels = (p[:, 4:5] * p[:, 5:]).max(1)
        kept = scores > 0.3
        boxes, scores, labels = boxes[kept], scores[kept], labels[kept]
        keep = batched_nms(boxes, scores, labels, 0.5)
        return boxes[keep], scores[keep], labels[keep]


class Ssd(nn.Module):
    """A fixed number of candidates, then NMS of one class."""

    def __init__(self):
        super().__init__()
        self.stem = stem()
        self.boxes, self.scores = nn.Conv2d(16, 8, 3, padding=1), nn.Conv2d(16, 6, 3, padding=1)

    def forward(self, image):
        x = self.stem(image.unsqueeze(0))
        deltas = self.boxes(x).permute(0, 2, 3, 1).reshape(-1, 4)
        scores = self.scores(x).permute(0, 2, 3, 1).reshape(-1, 3).softmax(-1)[:, 1]
        best, index = scores.topk(50)
        center = torch.arange(deltas.shape[0]).to(deltas.dtype)[index][:, None] % 16 * 4
        d = deltas[index]
        boxes = torch.cat([center + d[:, :2] * 4 - 6, center + d[:, 2:] * 4 + 6], 1).clamp(0, 64)
        keep = nms(boxes, best, 0.4)
        return boxes[keep[:10]], best[keep[:10]]


class Center(nn.Module):
    """CenterNet: local maxima of a heat map. In 16 bits their order is a matter of rounding."""

    def __init__(self):
        super().__init__()
        self.stem, self.heat = stem(), nn.Conv2d(16, 4, 1)
        self.size = nn.Conv2d(16, 2, 1)

    def forward(self, image):
        x = self.stem(image)
        heat = self.heat(x).sigmoid()
        heat = heat * (heat == nn.functional.max_pool2d(heat, 3, 1, 1))
        b, c, h, w = heat.shape
        scores, index = heat.reshape(b, -1).topk(20)
        places = index % (h * w)
        size = self.size(x).reshape(b, 2, -1).gather(2, places[:, None].expand(b, 2, 20))
        return scores, index // (h * w), places // w, places % w, size


class TwoStage(nn.Module):
    """Proposals given as an input, regions pooled from the features."""

    def __init__(self):
        super().__init__()
        self.stem, self.head = stem(), nn.Linear(16 * 9, 7)

    def forward(self, image, boxes):
        b = boxes.abs() * 10
        boxes = torch.cat([b[:, :2], b[:, :2] + b[:, 2:] + 2], 1)
        pooled = roi_align(self.stem(image.unsqueeze(0)), [boxes], 3, 0.25, 2, True)
        return self.head(pooled.flatten(1))


class Whole(nn.Module):
    """A detector of torchvision, which takes a list of images and gives a list of dictionaries."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, image):
        out = self.model([image])[0]
        return out["boxes"], out["scores"], out["labels"]


def backbone(width=16):
    net = stem(width)
    net.out_channels = width
    return net


SHAPE = dict(min_size=64, max_size=64, image_mean=[0, 0, 0], image_std=[1, 1, 1])


def anchors():
    return AnchorGenerator(((8, 16, 32),), ((0.5, 1.0, 2.0),))


def retina():
    return Whole(RetinaNet(backbone(), 4, anchor_generator=anchors(), score_thresh=0.3,
                           topk_candidates=40, **SHAPE))


def fcos():
    return Whole(FCOS(backbone(32), 4, anchor_generator=AnchorGenerator(((8,),), ((1.0,),)),
                      score_thresh=0.2, topk_candidates=40, **SHAPE))


def faster():
    pool = torchvision.ops.MultiScaleRoIAlign(["0"], 3, 2)
    return Whole(FasterRCNN(backbone(), 4, rpn_anchor_generator=anchors(), box_roi_pool=pool,
                            rpn_pre_nms_top_n_test=60, rpn_post_nms_top_n_test=20,
                            box_score_thresh=0.2, **SHAPE))


def yolos():
    config = t.YolosConfig(hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
                           intermediate_size=64, image_size=[32, 32], patch_size=8,
                           num_detection_tokens=10, attn_implementation="eager", num_labels=5)
    return Plain(t.YolosForObjectDetection(config), ["pixel_values"], ["logits", "pred_boxes"])


class Detr(nn.Module):
    """Learned queries over convolutional features."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(stem(), nn.Conv2d(16, 32, 3, 4, 1))
        self.layers = nn.Transformer(32, 4, 1, 1, 48, batch_first=True)
        self.queries = nn.Embedding(6, 32)
        self.label, self.box = nn.Linear(32, 5), nn.Linear(32, 4)

    def forward(self, image):
        x = self.stem(image).flatten(2).transpose(1, 2)
        queries = self.queries.weight[None].expand(x.shape[0], 6, 32)
        y = self.layers(x, queries)
        return self.label(y), self.box(y).sigmoid()


def suppression(variant) -> onnx.ModelProto:
    """ONNX's NonMaxSuppression over classes and batches, with boxes by their centers."""
    node, value = helper.make_node, helper.make_tensor_value_info
    initial = {"most": np.array([5]), "overlap": np.array([0.4], np.float32),
               "score": np.array([0.6], np.float32), "two": np.array([2]), "three": np.array([3])}
    nodes = [node("Abs", ["raw"], ["boxes"]), node("Sigmoid", ["logits"], ["scores"]),
             node("NonMaxSuppression", ["boxes", "scores", "most", "overlap", "score"],
                  ["selected"], center_point_box=1),
             node("Slice", ["selected", "two", "three", "one"], ["column"]),
             node("Squeeze", ["column", "one"], ["index"]),
             node("Gather", ["boxes", "index"], ["chosen"], axis=1)]
    initial["one"] = np.array([1])
    graph = helper.make_graph(
        nodes, "suppression",
        [value("raw", TensorProto.FLOAT, ["batch", "boxes_", 4]),
         value("logits", TensorProto.FLOAT, ["batch", 3, "boxes_"])],
        [value("selected", TensorProto.INT64, None), value("chosen", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(v, n) for n, v in initial.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", variant.opset)],
                             ir_version=8)


MODELS = [
    Model("yolo", Yolo, BATCH, ("legacy17.open", "dynamo20.open", "legacy17.qdq", "legacy17.fp16"),
          SIZES),
    Model("yolo_nms", YoloNms, IMAGE, ("legacy17", "legacy20"), SIZES),
    Model("ssd", Ssd, IMAGE, ("legacy17", "legacy17.extended"), SIZES),
    Model("centernet", Center, BATCH, ("legacy17.open", "dynamo20"), SIZES),
    Model("two_stage", TwoStage, IMAGE | {"boxes": floats("rois", 4)},
          ("legacy17.open", "legacy17"), ({"rois": 6}, {"rois": 1})),
    Model("retinanet", retina, IMAGE, ("legacy17", "legacy20"), SIZES),
    Model("fcos", fcos, IMAGE, ("legacy17",), SIZES),
    Model("faster_rcnn", faster, IMAGE, ("legacy17",), SIZES),
    Model("yolos", yolos, {"image": floats("batch", 3, 32, 32)}, ("legacy17.open", "dynamo20.open"),
          SIZES),
    Model("detr", Detr, BATCH, ("legacy17", "dynamo20", "legacy17.dynamic"), SIZES),
    Model("suppression", suppression, {"raw": floats("batch", "boxes_", 4),
                                       "logits": floats("batch", 3, "boxes_")},
          ("direct17.open", "direct20.open"), ({"batch": 2, "boxes_": 30},
                                               {"batch": 1, "boxes_": 1})),
]
