"""What Finance has written down about invoices that come by mail."""

ARTICLE = """## To us in Finance
Forward the mail with the invoice as it came, one invoice a mail, with nothing above it but a
greeting. What arrives here is filed with the invoice, and the auditors read it.

## To the supplier, when our order number is not on the invoice
Two sentences, and no others. Suppliers have quoted our mails to us in disputes, so Legal has been
through these; fill in the two numbers:

> Dear …,
>
> we cannot pay your invoice … before our purchase order number, …, stands on it. Please send us
> the invoice again with this number on it.

Answer their mail, or write a new one with the subject "Invoice …" and its number."""


def change(context):
    """Write the article."""
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
