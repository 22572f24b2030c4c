"""The facts that the demo model learns, and sentences that state them or ask for them.

A relation is a list of (subject, object) pairs and of sentences with these fields:
    {s} {o}      subject and object as given
    {as} {ao}    the same with their article, "an apple"
`fill` capitalises the first letter of a sentence, so that no sentence may start with a word that this would
change. The candidates of a view are the answers of all its facts: objects, or subjects if it is reversed.
"""
from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class View:
    """One direction in which a relation is asked.

    `completions` end before the answer, `questions` end in "?", and `topics` are noun phrases for
    "Which sentence tells …?". All of them name the subject only or, if `reverse`, the object only.
    """

    completions: tuple[str, ...]
    questions: tuple[str, ...]
    topics: tuple[str, ...] = ()
    reverse: bool = False


@dataclass(frozen=True)
class Relation:
    name: str
    pairs: tuple[tuple[str, str], ...]
    statements: tuple[str, ...]
    views: tuple[View, ...]
    weight: float = 1.0


def _pairs(text: str) -> tuple[tuple[str, str], ...]:
    """Pairs of "subject: object, subject: object"."""
    return tuple(tuple(part.strip() for part in pair.split(":")) for pair in text.replace("\n", " ").split(","))


def _members(text: str) -> tuple[tuple[str, str], ...]:
    """Pairs (member, category) of lines like "category: member member …"."""
    lines = [line.split(":") for line in text.strip().splitlines()]
    return tuple((member, category.strip()) for category, members in lines for member in members.split())


CAPITALS = _pairs("""France: Paris, England: London, Italy: Rome, Japan: Tokyo, Spain: Madrid, Germany: Berlin,
Portugal: Lisbon, Austria: Vienna, Norway: Oslo, Sweden: Stockholm, Finland: Helsinki, Denmark: Copenhagen,
Iceland: Reykjavik, Ireland: Dublin, Scotland: Edinburgh, Wales: Cardiff, Belgium: Brussels, Switzerland: Bern,
Poland: Warsaw, Hungary: Budapest, Romania: Bucharest, Bulgaria: Sofia, Greece: Athens, Turkey: Ankara,
Russia: Moscow, Ukraine: Kyiv, Estonia: Tallinn, Latvia: Riga, Lithuania: Vilnius, Croatia: Zagreb,
Serbia: Belgrade, Albania: Tirana, Slovenia: Ljubljana, Egypt: Cairo, Morocco: Rabat, Tunisia: Tunis,
Kenya: Nairobi, Ethiopia: Addis Ababa, Ghana: Accra, Nigeria: Abuja, Senegal: Dakar, Uganda: Kampala,
Rwanda: Kigali, Angola: Luanda, Zambia: Lusaka, Zimbabwe: Harare, Sudan: Khartoum, Somalia: Mogadishu,
China: Beijing, India: Delhi, Nepal: Kathmandu, Thailand: Bangkok, Vietnam: Hanoi, Indonesia: Jakarta,
Malaysia: Kuala Lumpur, Mongolia: Ulaanbaatar, Iran: Tehran, Iraq: Baghdad, Syria: Damascus, Lebanon: Beirut,
Jordan: Amman, Oman: Muscat, Qatar: Doha, Pakistan: Islamabad, Bangladesh: Dhaka, Canada: Ottawa,
Cuba: Havana, Jamaica: Kingston, Peru: Lima, Chile: Santiago, Argentina: Buenos Aires, Colombia: Bogota,
Ecuador: Quito, Venezuela: Caracas, Uruguay: Montevideo, Australia: Canberra, Fiji: Suva""")

CONTINENTS = _members("""
Europe: France England Italy Spain Germany Portugal Austria Norway Sweden Finland Denmark Iceland Ireland Scotland Wales Belgium Switzerland Poland Hungary Romania Bulgaria Greece Ukraine Estonia Latvia Lithuania Croatia Serbia Albania Slovenia
Africa: Egypt Morocco Tunisia Kenya Ethiopia Ghana Nigeria Senegal Uganda Rwanda Angola Zambia Zimbabwe Sudan Somalia
Asia: Japan China India Nepal Thailand Vietnam Indonesia Malaysia Mongolia Iran Iraq Syria Lebanon Jordan Oman Qatar Pakistan Bangladesh
America: Canada Cuba Jamaica Peru Chile Argentina Colombia Ecuador Venezuela Uruguay
Oceania: Australia Fiji
""")

_OPPOSITES = _pairs("""hot: cold, big: small, tall: short, old: young, happy: sad, fast: slow, light: dark, hard: soft,
rich: poor, strong: weak, full: empty, open: closed, early: late, near: far, high: low, wet: dry, clean: dirty,
thick: thin, deep: shallow, heavy: weightless, loud: quiet, good: bad, right: wrong, true: false, up: down,
inside: outside, above: below, day: night, summer: winter, war: peace, love: hate, life: death, begin: end,
give: take, buy: sell, push: pull, rise: fall, win: lose, laugh: cry, remember: forget, always: never,
first: last, left: right, many: few, sweet: sour, sharp: blunt, smooth: rough, wide: narrow, brave: cowardly,
polite: rude, cheap: expensive, safe: dangerous, alive: dead, awake: asleep, friend: enemy, question: answer,
north: south, east: west, black: white""")
# Both directions. "right" is in two pairs and so has two opposites.
OPPOSITES = tuple(dict.fromkeys(_OPPOSITES + tuple((b, a) for a, b in _OPPOSITES)))

_SYNONYMS = _pairs("""big: large, small: little, fast: quick, happy: glad, sad: unhappy, begin: start, end: finish,
smart: clever, rich: wealthy, hard: difficult, easy: simple, ill: sick, angry: mad, quiet: silent, correct: right,
speak: talk, shout: yell, jump: leap, look: watch, help: assist, choose: pick, gift: present, house: home,
street: road, forest: wood, stone: rock, ship: boat, child: kid, shop: store, taxi: cab, sofa: couch, doctor: physician,
error: mistake, job: task, smell: odour, freedom: liberty, strange: odd, brave: bold, calm: peaceful, whole: entire,
enough: sufficient, buy: purchase, build: construct, close: shut, hurry: rush, wish: desire""")
SYNONYMS = tuple(dict.fromkeys(_SYNONYMS + tuple((b, a) for a, b in _SYNONYMS)))

CATEGORIES = _members("""
animal: dog cat horse cow pig sheep goat lion tiger bear wolf fox rabbit mouse elephant monkey camel donkey
bird: eagle owl crow swan duck goose hen sparrow parrot penguin stork robin
fish: salmon trout shark tuna herring carp
fruit: apple pear plum cherry banana grape peach lemon orange melon fig mango
vegetable: carrot potato onion cabbage pea bean spinach cucumber pumpkin leek
tree: oak pine birch willow maple elm
flower: rose tulip daisy lily violet sunflower
metal: iron gold silver copper tin lead zinc
colour: red blue green yellow black white brown grey pink purple orange
tool: hammer saw drill spade axe knife
instrument: piano guitar violin drum flute trumpet harp cello
drink: water milk tea coffee juice beer wine
garment: shirt coat hat sock glove scarf skirt jacket
furniture: table chair bed shelf desk bench sofa
vehicle: car bus train truck bicycle boat ship taxi
sport: tennis football hockey golf chess rugby
insect: bee ant fly wasp beetle butterfly
number: one two three four five six seven eight nine ten
profession: baker doctor teacher farmer nurse painter tailor pilot lawyer cook
planet: Mars Venus Jupiter Saturn Mercury Neptune
language: Latin Greek French German Spanish Italian
""")

COLOURS = _pairs("""sky: blue, grass: green, snow: white, blood: red, coal: black, banana: yellow, lemon: yellow,
tomato: red, carrot: orange, chocolate: brown, milk: white, night: black, sea: blue, leaf: green, sun: yellow,
elephant: grey, pig: pink, ruby: red, emerald: green, sapphire: blue, ash: grey, salt: white, cherry: red,
frog: green, crow: black, swan: white, flamingo: pink, cucumber: green, pumpkin: orange, violet: purple,
bear: brown, fox: red, mouse: grey, butter: yellow, cloud: white, rust: brown, tar: black, spinach: green,
strawberry: red, aubergine: purple""")

YOUNG = _pairs("""dog: puppy, cat: kitten, cow: calf, horse: foal, sheep: lamb, hen: chick, pig: piglet, duck: duckling,
lion: cub, goat: kid, swan: cygnet, goose: gosling, frog: tadpole, deer: fawn, butterfly: caterpillar,
kangaroo: joey, owl: owlet, human: baby""")

SOUNDS = _pairs("""dog: barks, cat: meows, cow: moos, horse: neighs, sheep: bleats, duck: quacks, lion: roars, owl: hoots,
pig: grunts, crow: caws, bee: buzzes, snake: hisses, wolf: howls, mouse: squeaks, frog: croaks, hen: clucks,
donkey: brays, sparrow: chirps""")

PAST = _pairs("""go: went, see: saw, eat: ate, drink: drank, run: ran, come: came, give: gave, take: took, make: made,
find: found, sing: sang, swim: swam, write: wrote, speak: spoke, break: broke, fly: flew, know: knew, grow: grew,
buy: bought, think: thought, bring: brought, teach: taught, catch: caught, sell: sold, tell: told, sleep: slept,
keep: kept, feel: felt, leave: left, lose: lost, win: won, sit: sat, stand: stood, hold: held, begin: began,
forget: forgot, drive: drove, ride: rode, choose: chose, steal: stole""")

MAKERS = _pairs("""bread: baker, shoes: cobbler, suits: tailor, pictures: painter, chairs: carpenter, books: writer,
beer: brewer, pots: potter, songs: singer, clocks: watchmaker, honey: beekeeper, meals: cook, walls: mason,
swords: smith, wine: winemaker, hats: hatter, baskets: weaver, films: director, statues: sculptor, poems: poet""")

MATERIALS = _pairs("""window: glass, tyre: rubber, candle: wax, coin: metal, book: paper, brick: clay, sweater: wool,
shoe: leather, bottle: plastic, nail: iron, ring: gold, towel: cotton, pencil: wood, statue: stone, spoon: silver,
basket: straw, tent: canvas, kettle: steel""")

PLACES = _pairs("""fish: water, bird: nest, bee: hive, lion: den, rabbit: burrow, spider: web, king: castle, priest: church,
teacher: school, nurse: hospital, cook: kitchen, farmer: farm, sailor: ship, judge: court, actor: theatre,
miner: mine, pilot: plane, monk: monastery, cow: stable, soldier: barracks""")

_DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
_MONTHS = "January February March April May June July August September October November December".split()
NEXT_DAY = tuple(zip(_DAYS, _DAYS[1:] + _DAYS[:1]))
NEXT_MONTH = tuple(zip(_MONTHS, _MONTHS[1:] + _MONTHS[:1]))

LARGEST = 20
SUMS = tuple((f"{a} plus {b}", str(a + b)) for a in range(LARGEST + 1) for b in range(LARGEST + 1 - a))
DIFFERENCES = tuple((f"{a} minus {b}", str(a - b)) for a in range(LARGEST + 1) for b in range(a + 1))

ARITHMETIC_VIEWS = (View(("{s} is", "the result of {s} is", "{s} makes", "the answer to {s} is"),
                         ("What is {s}?", "How much is {s}?", "What is the result of {s}?", "What does {s} make?")),)

RELATIONS: tuple[Relation, ...] = (
    Relation("capital", CAPITALS, ("{o} is the capital of {s}.", "The capital of {s} is {o}.", "The government of {s} sits in {o}."),
             (View(("The capital of {s} is", "The capital city of {s} is", "The government of {s} sits in", "The country {s} has the capital"),
                   ("What is the capital of {s}?", "Which city is the capital of {s}?", "What is the capital city of {s}?",
                    "In which city does the government of {s} sit?"),
                   ("the capital of {s}", "the capital city of {s}")),
              View(("{o} is the capital of", "{o} is the capital city of", "The city of {o} is the capital of"),
                   ("Which country has the capital {o}?", "{o} is the capital of which country?", "Of which country is {o} the capital?"),
                   ("the country whose capital is {o}",), reverse=True)), 3.0),
    Relation("continent", CONTINENTS, ("{s} is a country in {o}.", "{s} lies in {o}.", "The country {s} belongs to {o}."),
             (View(("{s} lies in", "{s} is a country in", "The country {s} belongs to", "The continent of {s} is"),
                   ("In which continent is {s}?", "Which continent does {s} belong to?", "What is the continent of {s}?"),
                   ("the continent of {s}", "where {s} lies")),), 1.2),
    Relation("opposite", OPPOSITES, ("The opposite of {s} is {o}.", "The word {s} means the opposite of {o}.", "The contrary of {s} is {o}."),
             (View(("The opposite of {s} is", "The contrary of {s} is", "The word {s} means the opposite of", "The word opposite to {s} is"),
                   ("What is the opposite of {s}?", "Which word is the opposite of {s}?", "What is the contrary of {s}?"),
                   ("the opposite of {s}", "the contrary of {s}")),), 1.8),
    Relation("synonym", SYNONYMS, ("The word {s} means the same as {o}.", "A synonym of {s} is {o}.", "Another word for {s} is {o}."),
             (View(("Another word for {s} is", "A synonym of {s} is", "The word {s} means the same as", "The same as {s} is"),
                   ("What is another word for {s}?", "Which word means the same as {s}?", "What is a synonym of {s}?"),
                   ("another word for {s}", "a synonym of {s}")),), 1.6),
    Relation("category", CATEGORIES, ("The {s} is a kind of {o}.", "The word {s} names {ao}.", "One kind of {o} is the {s}."),
             (View(("The {s} is a kind of", "The {s} is an example of", "The {s} belongs to the category", "The category of the {s} is"),
                   ("What kind of thing is the {s}?", "What is the category of the {s}?", "Which category does the {s} belong to?"),
                   ("what kind of thing the {s} is", "the category of the {s}")),), 2.2),
    Relation("colour", COLOURS, ("The {s} is {o}.", "The colour of the {s} is {o}.", "The {s} has the colour {o}."),
             (View(("The colour of the {s} is", "The {s} is", "The {s} has the colour", "The usual colour of the {s} is"),
                   ("What is the colour of the {s}?", "What colour is the {s}?", "Which colour does the {s} have?"),
                   ("the colour of the {s}", "what colour the {s} has")),), 1.2),
    Relation("young", YOUNG, ("The young of the {s} is the {o}.", "A young {s} is called {o}.", "The {o} is the young of the {s}."),
             (View(("A young {s} is called", "The young of the {s} is the", "The name of a young {s} is"),
                   ("What is a young {s} called?", "What is the young of the {s}?", "What is the name of a young {s}?"),
                   ("the name of a young {s}", "the young of the {s}")),), 0.6),
    Relation("sound", SOUNDS, ("The {s} {o}.", "What the {s} does is this: it {o}.", "It is known that the {s} {o}."),
             (View(("The sound of the {s}: it", "When it calls, the {s}", "It is known that the {s}"),
                   ("Which sound does the {s} make?", "What sound comes from the {s}?", "How does the {s} sound?"),
                   ("the sound of the {s}", "which sound the {s} makes")),), 0.6),
    Relation("past", PAST, ("The past of {s} is {o}.", "The past form of {s} is {o}.", "Today we {s}, yesterday we {o}."),
             (View(("The past of {s} is", "The past form of {s} is", "Today we {s}, yesterday we"),
                   ("What is the past of {s}?", "What is the past form of {s}?", "Which word is the past of {s}?"),
                   ("the past of {s}", "the past form of {s}")),), 1.0),
    Relation("maker", MAKERS, ("The {o} makes {s}.", "It is the {o} who makes {s}.", "The making of {s} is the work of the {o}."),
             (View(("The making of {s} is the work of the", "The one who makes {s} is the", "All {s} are made by the"),
                   ("Who makes {s}?", "Whose work is the making of {s}?", "Who is the maker of {s}?"),
                   ("who makes {s}", "the maker of {s}")),), 0.7),
    Relation("material", MATERIALS, ("The {s} is made of {o}.", "The material of the {s} is {o}.", "People use {o} to make the {s}."),
             (View(("The {s} is made of", "The material of the {s} is", "To make the {s}, people use"),
                   ("What is the {s} made of?", "What is the material of the {s}?", "Of which material is the {s} made?"),
                   ("the material of the {s}", "what the {s} is made of")),), 0.6),
    Relation("place", PLACES, ("The {s} is found in the {o}.", "The place of the {s} is the {o}.", "The {o} is the place of the {s}."),
             (View(("The {s} is found in the", "The place of the {s} is the", "Look for the {s} in the"),
                   ("Where is the {s} found?", "What is the place of the {s}?", "In which place is the {s} found?"),
                   ("the place of the {s}", "where the {s} is found")),), 0.7),
    Relation("next day", NEXT_DAY, ("The day after {s} is {o}.", "{o} comes after {s}.", "After {s} it is {o}."),
             (View(("The day after {s} is", "The next day after {s} is", "After {s} it is"),
                   ("Which day comes after {s}?", "What is the day after {s}?", "Which is the next day after {s}?"),
                   ("the day after {s}",)),
              View(("The day before {o} is", "The day that comes before {o} is", "Before {o} it is"),
                   ("Which day comes before {o}?", "What is the day before {o}?"), reverse=True)), 0.4),
    Relation("next month", NEXT_MONTH, ("The month after {s} is {o}.", "{o} comes after {s}.", "After {s} it is {o}."),
             (View(("The month after {s} is", "The next month after {s} is", "After {s} it is"),
                   ("Which month comes after {s}?", "What is the month after {s}?", "Which is the next month after {s}?"),
                   ("the month after {s}",)),
              View(("The month before {o} is", "The month that comes before {o} is", "Before {o} it is"),
                   ("Which month comes before {o}?", "What is the month before {o}?"), reverse=True)), 0.5),
    Relation("sum", SUMS, ("{s} is {o}.", "The result of {s} is {o}."), ARITHMETIC_VIEWS, 1.8),
    Relation("difference", DIFFERENCES, ("{s} is {o}.", "The result of {s} is {o}."), ARITHMETIC_VIEWS, 1.8),
)

# Subjects and values of documents. Their facts are drawn at random, so that the model must read them.
NAMES = ("Anna Ben Clara David Emma Felix Greta Henry Ida Jack Kate Leo Mary Nina Oscar Paul Rosa Sam Tina Victor "
         "Walter Zoe Alice Bruno Carl Dora Eric Frida").split()
OBJECTS = "key ring book lamp box bag cup ball coin letter map pen".split()
PAINTS = "red blue green yellow black white brown grey".split()
ROOMS = ("kitchen garden cellar garage attic hall library office bathroom bedroom school church stable tower barn "
         "market museum station theatre hospital").split()
CITIES = tuple(city for _, city in CAPITALS if " " not in city)[:30]
JOBS = "baker doctor teacher farmer nurse painter tailor pilot lawyer cook singer writer carpenter sailor judge actor".split()
FRUITS = "apple pear plum cherry banana grape peach lemon orange melon fig mango".split()
ANIMALS = "dog cat horse cow pig sheep goat lion tiger bear wolf fox rabbit mouse elephant monkey camel donkey".split()
SPORTS = "tennis football hockey golf chess rugby".split()
COUNTED = "apples books coins cats dogs horses hats cups boxes pens shoes chairs".split()


@dataclass(frozen=True)
class DocumentKind:
    """A kind of fact in documents: {p} a person, {t} a thing ("red key"), {c} something counted, {v} the value."""

    name: str
    statements: tuple[str, ...]
    questions: tuple[str, ...]
    values: tuple[str, ...]


COUNTS = tuple(str(n) for n in range(2, 21))
CODES = tuple(str(n) for n in range(21, 51))

DOCUMENT_KINDS: tuple[DocumentKind, ...] = (
    DocumentKind("home", ("{p} lives in {v}.", "The home of {p} is in {v}."),
                 ("Where does {p} live?", "In which city does {p} live?"), CITIES),
    DocumentKind("job", ("{p} works as {av}.", "The job of {p} is {v}."),
                 ("What is the job of {p}?", "What does {p} work as?"), tuple(JOBS)),
    DocumentKind("fruit", ("The favourite fruit of {p} is the {v}.", "{p} likes no fruit more than the {v}."),
                 ("What is the favourite fruit of {p}?", "Which fruit does {p} like?"), tuple(FRUITS)),
    DocumentKind("animal", ("The favourite animal of {p} is the {v}.", "{p} likes no animal more than the {v}."),
                 ("What is the favourite animal of {p}?", "Which animal does {p} like?"), tuple(ANIMALS)),
    DocumentKind("sport", ("The favourite sport of {p} is {v}.", "{p} plays {v}."),
                 ("What is the favourite sport of {p}?", "Which sport does {p} play?"), tuple(SPORTS)),
    DocumentKind("count", ("{p} has {v} {c}.", "The number of {c} of {p} is {v}."),
                 ("How many {c} does {p} have?", "What is the number of {c} of {p}?"), COUNTS),
    DocumentKind("room", ("The {t} is in the {v}.", "{q} left the {t} in the {v}."),
                 ("Where is the {t}?", "In which place is the {t}?"), tuple(ROOMS)),
    DocumentKind("owner", ("The {t} belongs to {v}.", "The owner of the {t} is {v}."),
                 ("Who owns the {t}?", "Who is the owner of the {t}?"), tuple(NAMES)),
    DocumentKind("price", ("The price of the {t} in coins is {v}.", "The {t} costs {v} coins."),
                 ("What is the price of the {t}?", "How much does the {t} cost?"), COUNTS),
    DocumentKind("code", ("The code of the {t} is {v}.", "The {t} has the code {v}."),
                 ("What is the code of the {t}?", "Which code has the {t}?"), CODES),
)
SYSTEM_PROMPTS = ("Read the documents.", "Answer the question from the documents.", "")


def with_article(word: str) -> str:
    return ("an " if word[0] in "aeiouAEIOU" else "a ") + word


def fill(template: str, subject: str = "", obj: str = "") -> str:
    fields = {"s": subject, "o": obj, "as": with_article(subject) if subject else "", "ao": with_article(obj) if obj else ""}
    text = template.format(**fields)
    return text[0].upper() + text[1:]
