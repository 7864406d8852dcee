"""The YAML door: the part of YAML that says the same as JSON, and where each value stands in the source.

Anchors, aliases, tags, several documents and duplicate names are refused, so that no document is larger or other than
it looks. A plain word is true, false, null, a whole number or text; nothing else (`no`, `1:30` and `0o17` are text).
"""

import re

import yaml

from audit.core.jsondoor import SAFE_INTEGER, Json
from audit.core.pointers import pointer

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the C parser is some forty times faster; some wheels lack it
_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]{0,15})", re.ASCII)
_WORDS: dict[str, Json] = {"": None, "~": None, "null": None, "true": True, "false": False}
_DEPTH = 32
MEMBERS = 50_000
"""Values that a document may hold in all."""


class YamlError(ValueError):
    """The source is refused; `line` and `column` count from 1, 0 if not known."""

    def __init__(self, message: str, line: int, column: int = 0) -> None:
        super().__init__(message)
        self.message = message
        self.line = line
        self.column = column


class Lines(dict[str, int]):
    """The line of each place by JSON pointer, and in `columns` the column where its value begins, both from 1.

    `text` is the source, `starts` where in it each value begins, in characters from 0."""

    def __init__(self, text: str = "") -> None:
        super().__init__()
        self.columns: dict[str, int] = {}
        self.starts: dict[str, int] = {}
        self.text = text


def open_yaml(text: str) -> tuple[Json, Lines]:
    """The value of one YAML document and where each place in it stands. Raises `YamlError`."""
    builder = _Builder(text)
    try:
        for event in yaml.parse(text, Loader=_LOADER):
            builder.take(event)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        what = error.problem or error.context or "it is not YAML"
        line, column = (mark.line + 1, mark.column + 1) if mark else (0, 0)
        if mark and text[mark.index : mark.index + 1] == "\t":
            what = "a tab stands here; lines are indented with spaces"
        raise YamlError(f"The text is not YAML: {what}.", line, column) from None
    except yaml.reader.ReaderError as error:
        # The C parser counts bytes.
        before = text.encode("utf-8", "replace")[: error.position].decode("utf-8", "ignore")
        line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
        raise YamlError("The text is not YAML: a character that it does not allow. Remove it.", line, column) from None
    except (yaml.YAMLError, RecursionError) as error:
        first = str(error).split("\n", 1)[0]
        raise YamlError(f"The text is not YAML: {first}.", 0) from None
    return builder.value, builder.lines


class _Builder:
    def __init__(self, text: str) -> None:
        self.value: Json = None
        self.lines = Lines(text)
        self.index = 0
        self.stack: list[list[Json] | dict[str, Json]] = []
        self.path: list[str | int] = []
        self.key: list[str | None] = []  # for each open mapping the name that waits for its value
        self.documents = 0

    def take(self, event: yaml.Event) -> None:
        mark = event.start_mark
        at = (mark.line + 1, mark.column + 1) if mark else (0, 0)
        self.index = mark.index if mark else 0
        if isinstance(event, yaml.DocumentStartEvent):
            self.documents += 1
            if self.documents > 1:
                raise YamlError("The text holds several documents. Send one.", *at)
            if event.tags:
                raise YamlError("%TAG is not used here. Remove it.", *at)
        elif isinstance(event, yaml.AliasEvent):
            raise YamlError(f"*{event.anchor} repeats another place. Write the value out.", *at)
        elif isinstance(event, yaml.ScalarEvent):
            self._marks(event, at)
            self._put(self._scalar(event, at), at)
        elif isinstance(event, yaml.MappingStartEvent | yaml.SequenceStartEvent):
            self._marks(event, at)
            self._open({} if isinstance(event, yaml.MappingStartEvent) else [], at)
        elif isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent):
            self._close()

    def _marks(self, event: yaml.NodeEvent, at: tuple[int, int]) -> None:
        if event.anchor is not None:
            raise YamlError(f"&{event.anchor} names a place to repeat it. Write the value out where it is needed.", *at)
        tag = getattr(event, "tag", None)
        if tag is not None:
            raise YamlError(f"{tag} is a tag, which is not used here. Remove it.", *at)

    def _scalar(self, event: yaml.ScalarEvent, at: tuple[int, int]) -> Json:
        text: str = event.value
        if "\0" in text:
            raise YamlError("A text holds the character NUL. Remove it.", *at)
        if not event.implicit[0]:  # quoted or a block: text whatever it looks like
            return text
        if text in _WORDS:
            return _WORDS[text]
        if _INTEGER.fullmatch(text) and abs(int(text)) <= SAFE_INTEGER:
            return int(text)
        return text

    def _open(self, container: list[Json] | dict[str, Json], at: tuple[int, int]) -> None:
        if len(self.stack) >= _DEPTH:
            raise YamlError(f"The text is nested more than {_DEPTH} deep.", *at)
        if self.stack and isinstance(self.stack[-1], dict) and self.key[-1] is None:
            raise YamlError("A name must be a text.", *at)
        self._put(container, at)
        if isinstance(container, dict):
            self.key.append(None)
        self.stack.append(container)
        self.path.append(0)

    def _close(self) -> None:
        if isinstance(self.stack.pop(), dict):
            self.key.pop()
        self.path.pop()

    def _put(self, value: Json, at: tuple[int, int]) -> None:
        if not self.stack:
            self.value = value
            self._place("", at)
            return
        holder = self.stack[-1]
        if isinstance(holder, list):
            self.path[-1] = len(holder)
            holder.append(value)
        elif self.key[-1] is None:
            self._name(holder, value, at)
            return
        else:
            self.path[-1] = self.key[-1]
            holder[self.key[-1]] = value
            self.key[-1] = None
        self._place(pointer(self.path), at)

    def _place(self, place: str, at: tuple[int, int]) -> None:
        if len(self.lines) > MEMBERS:
            raise YamlError(f"The text holds more than {MEMBERS:,} values. Split it or shorten it.", *at)
        self.lines[place], self.lines.columns[place] = at
        self.lines.starts[place] = self.index

    def _name(self, holder: dict[str, Json], value: Json, at: tuple[int, int]) -> None:
        if not isinstance(value, str):
            raise YamlError("A name must be a text; put it in quotes.", *at)
        if value in holder:
            raise YamlError(f'"{value[:64]}" is there twice. Write it once.', *at)
        self.key[-1] = value
