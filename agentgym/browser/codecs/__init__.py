"""Actions of a browser in the forms of others, both ways: BrowserGym's, computer-use APIs'."""
