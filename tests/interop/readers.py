"""Other people's readers and writers of packed formats, as the tests here need them."""

import io
import os
import struct
import sys

SYSTEM = "/usr/bin/python3"  # Debian's has its packages, another one in front of it has not


def require(*modules):
    """Ends with 77 (skipped) where a module is missing, after trying Debian's own Python."""
    missing = []
    for module in modules:
        try:
            __import__(module)
        except ImportError:
            missing.append(module)
    if not missing:
        return
    if sys.executable != SYSTEM and os.path.exists(SYSTEM) and "FEEDLINE_TRIED" not in os.environ:
        os.environ["FEEDLINE_TRIED"] = "1"
        os.execv(SYSTEM, [SYSTEM, "-B", *sys.argv])
    print("Skipped: no", ", ".join(missing), "(scripts/setup --ci installs them)")
    sys.exit(77)


def _crc32c_table():
    table = []
    for i in range(256):
        for _ in range(8):
            i = i >> 1 ^ (0x82F63B78 if i & 1 else 0)
        table.append(i)
    return table


_TABLE = _crc32c_table()


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = _TABLE[(crc ^ byte) & 0xFF] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


def masked(data):
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def records(path):
    """Payloads of a TFRecord file, every checksum checked."""
    with open(path, "rb") as file:
        while header := file.read(12):
            length, crc = struct.unpack("<QI", header)
            assert crc == masked(header[:8]), "length's checksum"
            payload = file.read(length)
            assert struct.unpack("<I", file.read(4))[0] == masked(payload), "payload's checksum"
            yield payload


def write_records(path, payloads):
    with open(path, "wb") as file:
        for payload in payloads:
            header = struct.pack("<Q", len(payload))
            file.write(header + struct.pack("<I", masked(header)) + payload + struct.pack("<I", masked(payload)))


def messages():
    """tf.train.Example and Caffe's Datum as protobuf's own classes, declared here as their .proto files do."""
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    Field = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(name="feedline_test.proto", package="feedline_test", syntax="proto2")

    def message(name, *fields):
        declared = file.message_type.add(name=name)
        for number, label, kind, field, *more in fields:
            added = declared.field.add(name=field, number=number, label=label, type=kind)
            if more:
                added.type_name = ".feedline_test." + more[0]
        return declared

    one, many = Field.LABEL_OPTIONAL, Field.LABEL_REPEATED
    message("BytesList", (1, many, Field.TYPE_BYTES, "value"))
    message("FloatList", (1, many, Field.TYPE_FLOAT, "value")).field[0].options.packed = True
    message("Int64List", (1, many, Field.TYPE_INT64, "value")).field[0].options.packed = True
    message("Feature", (1, one, Field.TYPE_MESSAGE, "bytes_list", "BytesList"),
            (2, one, Field.TYPE_MESSAGE, "float_list", "FloatList"),
            (3, one, Field.TYPE_MESSAGE, "int64_list", "Int64List"))
    features = message("Features", (1, many, Field.TYPE_MESSAGE, "feature", "Features.FeatureEntry"))
    entry = features.nested_type.add(name="FeatureEntry")
    entry.options.map_entry = True
    entry.field.add(name="key", number=1, label=one, type=Field.TYPE_STRING)
    entry.field.add(name="value", number=2, label=one, type=Field.TYPE_MESSAGE, type_name=".feedline_test.Feature")
    message("Example", (1, one, Field.TYPE_MESSAGE, "features", "Features"))
    message("Datum", (1, one, Field.TYPE_INT32, "channels"), (2, one, Field.TYPE_INT32, "height"),
            (3, one, Field.TYPE_INT32, "width"), (4, one, Field.TYPE_BYTES, "data"), (5, one, Field.TYPE_INT32, "label"),
            (6, many, Field.TYPE_FLOAT, "float_data"), (7, one, Field.TYPE_BOOL, "encoded"))
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    factory = message_factory.MessageFactory(pool)
    return tuple(factory.GetPrototype(pool.FindMessageTypeByName("feedline_test." + name)) for name in ("Example", "Datum"))


def tar_of(members, **options):
    """A tar archive in memory: (name, content) pairs."""
    import tarfile

    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", **options) as tar:
        for name, content in members:
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return out.getvalue()
