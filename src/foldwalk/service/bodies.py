"""What requests carry: JSON, or a form with a picture. Both have the same fields."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any, BinaryIO, ClassVar, Self, TypeVar

from fastapi import Request
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import from_json
from starlette.datastructures import UploadFile

from foldwalk.core import BadInput
from foldwalk.index import CannotWrite
from foldwalk.service.errors import WrongType, sentence_of
from foldwalk.service.spool import FORM, SPOOLED

Name = Annotated[str, Field(min_length=1, max_length=1_000)]
Number = Annotated[float, Field(allow_inf_nan=False)]
Vector = Annotated[list[Number], Field(min_length=1, max_length=65_536)]
Names = Annotated[list[Name], Field(max_length=100)]
_SUBJECTS = ("picture", "key", "text", "vector", "positives")


class Body(BaseModel):
    """`picture` arrives as a file of a form and is never part of JSON."""

    model_config = ConfigDict(extra="forbid")
    structured: ClassVar[frozenset[str]] = frozenset({"parameters", "where", "metadata"})

    _upload: BinaryIO | None = None

    @property
    def picture(self) -> bytes | None:
        """Read from where it is spooled each time: ask when it is its turn, and only then."""
        if self._upload is None:
            return None
        self._upload.seek(0)
        return self._upload.read()

    def has(self, name: str) -> bool:
        return self._upload is not None if name == "picture" else getattr(self, name) is not None

    def check(self) -> None:
        """What a schema cannot say."""

    @classmethod
    async def read(cls, request: Request) -> Self:
        """The body of a request, whichever of the two forms it has."""
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind == "application/json":
            body = await asyncio.to_thread(_valid, cls, await request.body())
        elif kind == "multipart/form-data":
            body = await cls._read_form(request)
        else:
            raise WrongType("send application/json, or multipart/form-data with a file called picture.")
        body.check()
        return body

    @classmethod
    async def _read_form(cls, request: Request) -> Self:
        reading = request.form(max_files=1, max_fields=16, max_part_size=FORM)
        try:
            form = await request.scope[SPOOLED].enter_async_context(reading)
        except OSError as error:
            raise CannotWrite(f"the upload cannot be kept: {error.strerror or error}.") from None
        upload = form.get("picture")
        if not isinstance(upload, UploadFile):
            raise BadInput("the form has no file called picture; attach one.")
        texts = {name: value for name, value in form.items() if isinstance(value, str)}
        body = await asyncio.to_thread(_from_texts, cls, texts)
        body._upload = upload.file
        return body


class Choice(Body):
    """What is looked for, and by which method."""

    key: Name | None = Field(None, description="search from this item of the index")
    text: Name | None = Field(None, description="search with these words; see /api/words")
    vector: Vector | None = Field(None, description="search from this vector")
    positives: Names | None = Field(None, min_length=1, description="search from several items at once")
    negatives: Names = Field([], description="and away from these; goes with positives")
    method: Name | None = Field(None, description="name of a method; see /api/methods")
    parameters: dict[str, bool | int | Number | str] = Field(
        {}, max_length=50, description="parameters of the method; the others keep their defaults"
    )

    def check(self) -> None:
        given = [name for name in _SUBJECTS if self.has(name)]
        if len(given) != 1:
            raise BadInput(f"give one of {', '.join(_SUBJECTS)}; there {_are(given)}.")
        if self.negatives and not self.positives:
            raise BadInput("negatives goes with positives.")


class SearchBody(Choice):
    top: int = Field(20, ge=1, description="how many results")
    where: dict[str, Any] | None = Field(
        None,
        description='only items whose metadata fit: {"field": value, [values] or {"min": .., "max": ..}}',
    )
    fold: bool = Field(False, description="put near-duplicates under the first of them")
    wait: bool | None = Field(
        None,
        description="wait until the method is fitted, or take the hits of plain search until then; "
        "left out: wait for a method that is named",
    )


class ExplainBody(Choice):
    hit: Name = Field(description="key of the item whose place is to be explained")


class AddBody(Body):
    key: Name = Field(
        pattern=r"^[^\x00-\x1f\x7f]+$", description="name of the new item; replaces one of that name"
    )
    vector: Vector | None = Field(None, description="its vector, where there is no picture")
    metadata: dict[str, Any] = Field({}, max_length=100)

    def check(self) -> None:
        if self.has("picture") == self.has("vector"):
            raise BadInput("give either a picture or a vector.")


Model = TypeVar("Model", bound=BaseModel)
Form = TypeVar("Form", bound=Body)


def _valid(model: type[Model], values: bytes | dict[str, Any]) -> Model:
    try:
        return (
            model.model_validate_json(values) if isinstance(values, bytes) else model.model_validate(values)
        )
    except ValidationError as error:
        raise BadInput(sentence_of(error.errors(include_context=False, include_input=False))) from None


def _from_texts(model: type[Form], texts: dict[str, str]) -> Form:
    parsed = {name: _parsed(name, texts[name]) for name in model.structured & texts.keys()}
    return _valid(model, {**texts, **parsed})


def _parsed(name: str, text: str) -> Any:
    try:
        return from_json(text)
    except ValueError:
        raise BadInput(f"{name} must be written as JSON.") from None


def _are(given: list[str]) -> str:
    return f"are {' and '.join(given)}" if given else "is none"


def documented(model: type[Body], subjects: tuple[str, ...]) -> dict[str, Any]:
    """Both forms of a body for the OpenAPI description, which FastAPI cannot infer from `Body.read`."""
    schema = model.model_json_schema()
    properties = {name: rule for name, rule in schema["properties"].items() if name not in subjects}
    form = {
        **schema,
        "properties": {"picture": {"type": "string", "format": "binary"}, **properties},
        "required": ["picture", *schema.get("required", [])],
    }
    json = {**schema, "oneOf": [{"required": [name]} for name in subjects]}
    content = {"application/json": {"schema": json}, "multipart/form-data": {"schema": form}}
    return {"requestBody": {"required": True, "content": content}}
