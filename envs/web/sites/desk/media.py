"""The pages of the back office for pictures: the library, uploads, and those of a product."""

from __future__ import annotations

from agentgym.sites import BadRequestError, Request, Response, ServiceError, picture_file

from .staff import account, show, site

SIZE = 24
MOST_UPLOADS = 12


def pictures_of(request: Request, product: int) -> list[dict]:
    """Return the pictures of a product, the first one first."""
    found = request.call("shop_find_pictures", account=account(request), product=product)
    return found["pictures"]


@site.get("/pictures")
def pictures(request: Request) -> Response:
    query = request.query
    page = query.number("page", 1, least=1, most=1000)
    found = request.call(
        "shop_find_pictures",
        account=account(request),
        text=query.get("text").strip(),
        unused=query.get("unused") == "on",
        undescribed=query.get("undescribed") == "on",
        limit=SIZE,
        offset=SIZE * (page - 1),
    )
    values = {"total": found["total"], "page": page, "size": SIZE, "wanted": query.get("text")}
    return show(request, "pictures.html", pictures=found["pictures"], **values)


def file_of(request: Request, picture: int) -> dict:
    """Return the file of a picture, for staff."""
    request.call("shop_find_pictures", account=account(request), limit=1)
    found = request.rows(
        "SELECT f.data, f.mime, m.file_name FROM shop_picture m"
        " JOIN shop_file f ON f.name = m.file WHERE m.id = ?",
        picture,
    )
    if not found:
        raise BadRequestError(404, f"there is no picture {picture}")
    return found[0]


@site.get("/picture/{picture:int}")
def look(request: Request, picture: int) -> Response:
    file = file_of(request, picture)
    return picture_file(file["data"], file["mime"])


@site.get("/picture/{picture:int}/file")
def download(request: Request, picture: int) -> Response:
    file = file_of(request, picture)
    return picture_file(file["data"], file["mime"], file["file_name"])


@site.post("/pictures")
def upload(request: Request) -> Response:
    """Take all files, or none of them if one is refused."""
    files = request.files.get("file", [])[: MOST_UPLOADS + 1]
    product = request.fields.number("product") or None
    left = f"/product/{product}" if product else "/pictures?unused=on"
    if not files or len(files) > MOST_UPLOADS:
        request.flash(f"Choose one to {MOST_UPLOADS} files.", "error")
        return request.redirect(left)
    try:
        names = [request.keep_picture(file) for file in files]
    except ServiceError as error:
        request.flash(error.message, "error")
        return request.redirect(left)
    for file, name in zip(files, names, strict=True):
        made = request.attempt(
            f"{file.name} uploaded.",
            "shop_add_picture",
            account=account(request),
            picture=name,
            file_name=file.name or "picture",
            alt=request.fields.get("alt"),
            product=product,
        )
        if made is None:
            break
    return request.redirect(left)


@site.post("/picture/{picture:int}")
def change(request: Request, picture: int) -> Response:
    """Save what the form of a picture says: its text, its product, its place."""
    sku, fields = request.fields.get("sku").strip(), request.fields
    values = {"account": account(request), "picture": picture}
    if "alt" in fields:
        values["alt"] = fields.get("alt")
    if sku:
        found = request.rows("SELECT id FROM shop_product WHERE sku = ?", sku)
        if not found:
            request.flash(f"There is no article {sku[:40]}.", "error")
            return request.back("/pictures")
        values["product"] = found[0]["id"]
    if fields.get("first") == "yes":
        values["first"] = True
    request.attempt(f"Picture {picture} saved.", "shop_change_picture", **values)
    return request.back("/pictures")


@site.post("/picture/{picture:int}/remove")
def remove(request: Request, picture: int) -> Response:
    forget = request.fields.get("forget") == "yes"
    told = f"Picture {picture} deleted." if forget else f"Picture {picture} is not used any more."
    values = {"account": account(request), "picture": picture, "forget": forget}
    request.attempt(told, "shop_remove_picture", **values)
    return request.back("/pictures")
