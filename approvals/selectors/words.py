"""Searching waiting proposals by a part of what is shown of them, answered by an index of trigrams (migration 0007)."""

from typing import Any

from django.db.models import BooleanField, F, Func, Value

_LITERAL = str.maketrans({"\\": r"\\", "%": r"\%", "_": r"\_"})


class _InWords(Func):
    # Written as the index is: PostgreSQL compares the expressions, not what they mean. No field holds a line break
    # that another one continues, so nothing is found that begins in one field and ends in the next.
    template = "upper(%(expressions)s)"
    arg_joiner = " || E'\\n' || "
    output_field = BooleanField()

    def as_sql(
        self,
        compiler: Any,
        connection: Any,
        function: str | None = None,
        template: str | None = None,
        arg_joiner: str | None = None,
        **extra_context: Any,
    ) -> Any:
        """The expression compared with the pattern, which stands last."""
        *columns, pattern = self.source_expressions
        joined = Func(*columns, template=self.template, arg_joiner=self.arg_joiner)
        words, parameters = joined.as_sql(compiler, connection)
        sought, more = compiler.compile(pattern)
        return f"{words} LIKE upper({sought})", (*parameters, *more)


class _InWordsAside(_InWords):
    # The same, but not what the index holds: for walking a list in its order, where PostgreSQL would otherwise sort all
    # that the index finds. It cannot tell a word that every row has from one that none has.
    template = "(upper(%(expressions)s) || '')"


def in_words(text: str, *, by_index: bool) -> Func:
    """Whether sentence, tool, agent's name or run's title has the text in it, in any case."""
    columns = (F(name) for name in ("sentence", "tool", "agent_name", "run_title"))
    return (_InWords if by_index else _InWordsAside)(*columns, Value(f"%{text.translate(_LITERAL)}%"))
