"""Writes schema.binpb beside it: the descriptors of TensorBoard's messages, from its own package (`pip install tensorboard`)."""
from pathlib import Path

from google.protobuf import descriptor_pb2
from tensorboard.compat.proto import event_pb2, graph_pb2
from tensorboard.plugins.hparams import plugin_data_pb2

files = descriptor_pb2.FileDescriptorSet()


def camel(name):
    first, *others = name.split("_")
    return first + "".join(part[:1].upper() + part[1:] for part in others)


def name_fields(message):
    for field in message.field:
        field.json_name = field.json_name or camel(field.name)
    for nested in message.nested_type:
        name_fields(nested)


def add(descriptor):
    if any(known.name == descriptor.name for known in files.file):
        return
    for dependency in descriptor.dependencies:
        add(dependency)
    file = files.file.add()
    descriptor.CopyToProto(file)
    for message in file.message_type:
        name_fields(message)


for module in (event_pb2, graph_pb2, plugin_data_pb2):
    add(module.DESCRIPTOR)
Path(__file__).with_name("schema.binpb").write_bytes(files.SerializeToString())
