"""Data of the protobuf form: which number stands for which field (`apimachinery.protobuf` reads it)."""
