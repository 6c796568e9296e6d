"""Writes Finance's article on invoices that come by mail."""

ARTICLE = """## To us in Finance
Forward the mail with the invoice as it is, one invoice per mail, with nothing above it but a
greeting. Your mail gets filed with the invoice, and the auditors read it.

## To the supplier, if our order number is not on the invoice
These two sentences and nothing else. Suppliers have quoted our mails back at us in disputes, so
Legal has approved the wording; fill in the two numbers:

> Dear …,
>
> we cannot pay your invoice … until our purchase order number, …, is on it. Please send us
> the invoice again with this number on it.

Reply to their mail, or write a new one with the subject "Invoice …" and its number."""


def change(context):
    """Publish the article with an earlier date."""
    article = context.call(
        "knowledge_create",
        title="Invoices that come by mail",
        body=ARTICLE,
        category="finance",
        owner="amira.haddad@fairlead.example",
        review_on="2026-10-31",
        tags=["invoices", "suppliers"],
    )
    context.call("knowledge_publish", article=article["id"])
    context.db.execute(
        "UPDATE knowledge_article SET created_at = ?1, updated_at = ?1 WHERE id = ?2",
        "2025-11-18T09:40:12Z",
        article["id"],
    )
    context.db.execute(
        "UPDATE knowledge_version SET saved_at = ?1, author = ?2 WHERE article_id = ?3",
        "2025-11-18T09:40:12Z",
        "amira.haddad@fairlead.example",
        article["id"],
    )
