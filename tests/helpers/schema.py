"""Does a document follow a JSON schema? With the few keywords that the schemas of this project use."""

TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}


def has_type(value, name):
    if name in ("integer", "number"):
        return isinstance(value, (int,) if name == "integer" else (int, float)) and not isinstance(value, bool)
    return isinstance(value, TYPES[name])


def problems(value, schema, root=None, path="document"):
    """A sentence for each place that does not fit."""
    root = schema if root is None else root
    unknown = schema.keys() - {"$schema", "$defs", "$ref", "title", "description", "type", "const", "minimum",
                               "properties", "required", "additionalProperties", "items", "minItems", "maxItems",
                               "pattern"}
    assert not unknown, unknown
    if "$ref" in schema:
        return problems(value, root["$defs"][schema["$ref"].removeprefix("#/$defs/")], root, path)
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if kinds and not any(has_type(value, kind) for kind in kinds):
        return [f"{path} is {value!r}, no {kinds}"]
    found = []
    if "const" in schema and value != schema["const"]:
        found.append(f"{path} is {value!r}")
    if "minimum" in schema and has_type(value, "number") and value < schema["minimum"]:
        found.append(f"{path} is {value!r}")
    if isinstance(value, list):
        if not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value)):
            found.append(f"{path} has {len(value)} entries")
        for index, one in enumerate(value):
            found += problems(one, schema.get("items", {}), root, f"{path}[{index}]")
    if isinstance(value, dict):
        known, further = schema.get("properties", {}), schema.get("additionalProperties", True)
        found += [f"{path} lacks {name}" for name in schema.get("required", []) if name not in value]
        for name, one in value.items():
            if name in known or isinstance(further, dict):
                found += problems(one, known.get(name, further), root, f"{path}.{name}")
            elif not further:
                found.append(f"{path} has {name}")
    return found
