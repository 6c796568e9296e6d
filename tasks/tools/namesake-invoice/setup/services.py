"""Writes Finance's article on invoices that come by mail."""

ARTICLE = """## To us in Finance
Send us the form for an invoice that came by mail, one invoice each, and nothing besides it. It is
filed with the invoice, and the auditors read it. We fetch the mail from the folder Invoices.

## To the supplier, if our order number is not on the invoice
Send the form for an invoice without a purchase order number, and nothing besides it. Suppliers have
quoted our mails back at us in disputes, so Legal has approved the wording."""


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
