"""Compiles every template with the project's own engine: unknown tags, unclosed blocks, missing parents.

python -m tests.architecture.templates        needs the environment of the settings; touches no database
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent


def problems(folder: Path) -> list[str]:
    """One sentence for each template under `folder` that does not compile or names a template that does not exist."""
    from django.template import Engine, TemplateDoesNotExist, TemplateSyntaxError
    from django.template.loader_tags import ExtendsNode, IncludeNode

    engine = Engine(dirs=[str(folder)], libraries=_libraries(), builtins=_builtins())
    found = []
    for file in sorted(path for path in folder.rglob("*") if path.suffix in (".html", ".txt", ".md")):
        name = file.relative_to(folder).as_posix()
        try:
            template = engine.get_template(name)
            for node in template.nodelist.get_nodes_by_type(ExtendsNode | IncludeNode):  # type: ignore[arg-type]
                other = (node.parent_name if isinstance(node, ExtendsNode) else node.template).var  # type: ignore[attr-defined]
                if isinstance(other, str):  # a name written out, not a variable
                    engine.get_template(other)
        except TemplateSyntaxError as error:
            found.append(f"{name}: {error}")
        except TemplateDoesNotExist as error:
            found.append(f"{name}: names the template {error}, which does not exist")
    return found


def _libraries() -> dict[str, str]:
    from django.template.backends.django import get_installed_libraries

    return dict(get_installed_libraries())


def _builtins() -> list[str]:
    from django.conf import settings

    return list(settings.TEMPLATES[0]["OPTIONS"].get("builtins", []))


def main() -> int:
    import django

    django.setup()
    found = problems(ROOT / "templates")
    for problem in found:
        print(problem)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
