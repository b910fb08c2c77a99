"""The documentation: every page is there for everybody, and nothing of it is from elsewhere."""

from urllib.parse import urldefrag

from tests.http.house import OpenHouse
from tests.web.browser import Browser


def test_every_page_is_there_and_leads_on(house: OpenHouse) -> None:
    """From the first page on, signed out; each link and file of each page, and its anchors."""
    stranger = Browser(house)
    trees = {"/docs": stranger.get("/docs").tree}
    to_read, others = ["/docs"], set()
    while to_read:
        here = to_read.pop()
        tree = trees[here]
        assert tree.xpath("string(//html/@lang)") == "pt-BR"
        assert len(tree.xpath("//h1")) == 1, here
        assert not tree.xpath("//*[@style] | //style | //script[not(@src)]"), here
        for link in {*tree.xpath("//@href"), *tree.xpath("//@src")}:
            path, anchor = urldefrag(link)
            path = path or here
            if link.startswith("data:"):
                continue
            assert link.startswith(("/", "#")), f"{here}: {link}"
            assert not link.startswith("//"), f"{here}: {link}"
            if path.partition("?")[0] != path or not path.startswith("/docs"):
                others.add(path)
            elif path not in trees:
                said = stranger.get(path)
                assert said.status == 200, f"{here}: {link}"
                trees[path] = said.tree
                to_read.append(path)
            if anchor and path in trees:
                assert trees[path].xpath("//*[@id=$id]", id=anchor), f"{here}: {link}"
    for path in others:
        assert stranger.get(path).status in (200, 302, 303), path
