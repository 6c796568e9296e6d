"""A blocking transport over a dictionary."""

from tern import Missing


class World:
    """Each URL has a body, an error, or a list of those: one a request."""

    def __init__(self, content):
        self.content, self.asked, self.slept = content, [], []

    def get(self, url):
        self.asked.append(url)
        answer = self.content.get(url, Missing(f"{url}: not there"))
        if isinstance(answer, list):
            answer = answer.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def sleep(self, seconds):
        self.slept.append(seconds)
