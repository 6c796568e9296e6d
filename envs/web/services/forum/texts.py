"""The words of the forum: what people ask, answer and complain about, by matter.

A matter has titles, opening posts and answers; ``{kind}``, ``{brand}``, ``{size}`` and ``{town}``
are filled in. Several hands write, so some shout, some mistype and some only agree.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Matter:
    """Something that people write about.

    Attributes:
        board: Short name of its board.
        titles: Titles of threads.
        openings: First posts.
        answers: Replies that say something about it.
        label: Label that moderators give it; empty for no label.
    """

    board: str
    titles: tuple[str, ...]
    openings: tuple[str, ...]
    answers: tuple[str, ...]
    label: str = ""


BOARDS: Final = (
    ("news", "News from the store", "What changes in the shop. Only staff begin threads here.", 1),
    ("help", "Product help", "Questions about things you have bought or want to buy.", 0),
    ("repairs", "Repairs and spare parts", "Screws, wicks, lids, springs: what fits what.", 0),
    ("wishes", "Wishes and ideas", "What should we sell, change or stop? We read everything.", 0),
    ("site", "Trouble with the shop", "Pages that do not load, vouchers that do not work.", 0),
    ("home", "Show your home", "Corners, shelves, tables: how you live with our things.", 0),
    ("swap", "Swap and give away", "Between members. No trade, no prices above the old one.", 0),
)

MATTERS: Final = (
    Matter(
        "help",
        ("{kind} {brand}: which size?", "{kind}, {size} or bigger?", "size of the {brand} {kind}"),
        (
            "I want a {kind} for a small flat in {town}. The {size} looks right in the pictures,"
            " but the page gives no measures. Does somebody have one at home and a ruler?",
            "Is the {brand} {kind} in {size} big enough for four people? We are four and a half.",
        ),
        (
            "Ours is {size} and I would take the next bigger one if I bought it again.",
            "I measured it for you: 31 by 22 cm without the handle.",
            "Four people, yes. Five, no. Ask me how I know.",
            "The measures are on the box, not on the page. Support told me so last year.",
            "For a small flat the small one. You carry it around more than you think.",
        ),
        "measures",
    ),
    Matter(
        "help",
        ("How do you clean a {kind}?", "{kind} {brand} has stains", "Stains that do not come off"),
        (
            "After three months my {kind} has grey stains. Vinegar did nothing. What do you use?",
            "The leaflet of the {brand} {kind} says 'damp cloth only'. Mine laughs at damp cloths.",
        ),
        (
            "Baking soda and patience. Leave it over night and rinse in the morning.",
            "Not vinegar! It takes the finish off. Warm water, a drop of soap, a soft brush.",
            "Mine has the same stains and I have decided that they are character.",
            "Citric acid, one spoon to half a litre, ten minutes, no longer.",
        ),
        "care",
    ),
    Matter(
        "help",
        ("Is the {kind} {brand} worth it?", "{brand} or the cheaper {kind}?", "Honest opinions"),
        (
            "The {brand} {kind} costs twice as much as the others. Do you notice it after a year?",
            "I read two good reviews of the {kind} and one that says it fell apart. Whom to trust?",
        ),
        (
            "After two years: yes. The cheap one is in the cellar, the {brand} is in use.",
            "I returned mine, it wobbled. The second one they sent me is fine.",
            "Depends. Every day, yes. Twice a year, no.",
            "The review about falling apart is mine. They replaced it at once, by the way.",
        ),
    ),
    Matter(
        "repairs",
        ("Lid for a {kind} {brand}?", "Spare part for {kind}", "Broken handle, {kind} {brand}"),
        (
            "The handle of my {kind} broke on Sunday. Is there a spare part, or is it for the bin?",
            "I only need the lid. Buying a whole {kind} for a lid feels silly.",
            "One screw of the {brand} {kind} is gone. It is not a usual one, I tried M4 and M5.",
        ),
        (
            "Write to support with a photo. I got a lid for the postage.",
            "It is an M4.5, which no store sells. A smith in {town} filed one down.",
            "Epoxy. Two years and counting.",
            "There are spare parts for {brand} now, look for 'parts' in the search.",
        ),
        "spare-part",
    ),
    Matter(
        "repairs",
        ("{kind} squeaks", "Noise from the {kind} {brand}", "It squeaks!!"),
        (
            "Since the winter my {kind} squeaks whenever somebody walks past. I have tightened"
            " everything that can be tightened.",
            "A high sound, only in the evening. {kind} by {brand}, bought in spring.",
        ),
        (
            "Felt. Everything gets better with felt.",
            "Wood works with the heating. Put a bowl of water next to it for a week.",
            "A drop of sewing machine oil at the joint, wipe the rest off.",
            "Mine did the same. It was not the {kind}, it was the floor.",
        ),
    ),
    Matter(
        "wishes",
        ("Please bring back the {kind}", "{kind} in more colours?", "A bigger {kind}, please"),
        (
            "You used to have a {kind} in mustard. Every guest asks about mine. Bring it back!",
            "Could the {brand} {kind} come left-handed? Ten percent of us would cheer.",
            "I would buy a second {kind} at once if it came in {size}.",
        ),
        (
            "+1",
            "Yes please. In sage too.",
            "I asked the same two years ago and was told that the mould is gone.",
            "As long as the old one stays. Not everything has to be bigger.",
            "Passed on to the buyers. No promise, but they keep a list.",
        ),
    ),
    Matter(
        "wishes",
        ("Parcels without plastic", "Less packaging", "Pick up in {town}?"),
        (
            "My {kind} came in a box in a box in a bag. Could you offer one box only?",
            "A place to pick parcels up in {town} would save us all a lot of waiting at home.",
        ),
        (
            "The inner box is there because of breakage, they told me. But three layers?",
            "I write 'one box please' into the comment and sometimes it works.",
            "Good idea, I would even pay a euro for it.",
            "Noted. We try paper tape from spring on.",
        ),
        "packaging",
    ),
    Matter(
        "site",
        ("Voucher is refused", "SPRING10 does not work", "voucher code??"),
        (
            "I type the voucher exactly as in the mail and the shop says that it does not exist.",
            "The voucher says 10 percent from 40 euros. My basket has 41.20 and it is refused.",
        ),
        (
            "Is there a blank behind it? Copying from the mail takes one along.",
            "It counts the goods without delivery. Put a notebook in, worked for me.",
            "Same here since Friday.",
            "Fixed on our side this morning, please try again.",
        ),
        "checkout",
    ),
    Matter(
        "site",
        ("Page does not load on my phone", "Search finds nothing", "Signed out all the time"),
        (
            "The search finds nothing if I type 'blanket, wool' and everything if I type 'wool'.",
            "Each time I add a {kind} to the basket I am signed out. Second day now.",
            "On my phone the button for paying lies below the keyboard and cannot be reached.",
        ),
        (
            "Which browser? Mine does it only in private windows.",
            "Turn the phone. I know, I know. But it works.",
            "Confirmed, we have seen it on two phones here. Being worked on.",
            "The comma is it. Words only.",
        ),
        "bug",
    ),
    Matter(
        "site",
        ("Order does not show up", "Paid twice?", "Where is my parcel"),
        (
            "I paid last week and the order is not in my list. The money is gone, though.",
            "Tracking says 'shipped' for nine days. {town} is not the moon.",
        ),
        (
            "Please do not post order numbers here, write to support. They answer within a day.",
            "Mine took eleven days in December and came on a Sunday.",
            "We have found it, you have mail.",
        ),
        "order",
    ),
    Matter(
        "home",
        ("Our {kind} after a year", "Sunday with the {kind}", "Small kitchen, big {kind}"),
        (
            "It has moved three times within {town} and still stands straight. I like that.",
            "The {kind} by {brand} next to the window, where nothing else ever fitted.",
            "My grandmother's table, your {kind}, and a cat who thinks that both are hers.",
        ),
        (
            "Lovely light!",
            "Where is the blanket from?",
            "The cat is right.",
            "I have the same corner and never knew what to do with it. Thank you.",
        ),
    ),
    Matter(
        "swap",
        ("Give away: {kind}", "{kind} {brand} looking for a home", "Swap: {kind} for a lamp"),
        (
            "Moving out of {town} at the end of the month. The {kind} ({size}) has to go, one"
            " scratch, works. To be picked up.",
            "I have two of the {brand} {kind} and need one. Would swap the other for a lamp.",
        ),
        (
            "Interested! I could come on Saturday.",
            "Is it still there?",
            "Sent you a message.",
            "Gone, thank you all. That was quick.",
        ),
    ),
)

NEWS: Final = (
    (
        "New return period from March",
        "From 1 March on you may return goods within 60 days, sale or not. The page about returns"
        " has all of it.",
    ),
    (
        "The store in Berlin is open on Saturdays",
        "From ten to four. Parcels can be picked up then, too.",
    ),
    (
        "Rules of this forum",
        "1. Be kind. 2. No addresses, telephone numbers or order numbers. 3. No advertising. "
        "4. One thread per matter. Moderators hide what breaks these rules and say why.",
    ),
    ("Spare parts are in the shop now", "Lids, handles and wicks for Nordlys, Kestra and Brühl."),
    (
        "We look for people who test",
        "Twelve members test three products each over the summer. Write in this thread.",
    ),
)

FOLLOWING: Final = (
    "Any news on this?",
    "Thank you, that helped!",
    "Same question here.",
    "Did not work for me, sadly.",
    "I have written to support, will report.",
    "Update: solved. Thanks to all of you.",
    "+1",
    "following",
    "Depends on how you use it, I would say.",
    "Sorry for the late answer, I was away.",
)
SPAM: Final = (
    "Earn 300 euros a day from home! Write to me and I tell you how.",
    "Cheap designer watches, real quality, http://watches-sale.example",
    "Best casino bonus, only this week, code LUCKY.",
)
RUDE: Final = (
    "Only an idiot would buy this and then ask here.",
    "Learn to read before you write, you clown.",
    "You are too stupid for a {kind}, get a stick.",
)
PRIVATE: Final = (
    "Call me about it: 0171 5550{digits}, ask for {given}.",
    "My order is {digits}, and I live in {town}, Parkweg 12, second bell. Come by.",
)
ABOUT: Final = (
    "",
    "",
    "Collects lanterns.",
    "Repairs everything, finishes half of it.",
    "Small flat, many books.",
    "Here for the spare parts.",
    "Two cats, one balcony.",
)
