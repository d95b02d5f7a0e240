"""What the compiled core is to a type checker: a cffi module, whose names no checker can see."""

from typing import Any

ffi: Any
lib: Any
