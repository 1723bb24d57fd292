"""Works of the literature, and which of them a test should cite."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import bondloop

if TYPE_CHECKING:
    from bondloop.hybrid import Rehearsable
    from bondloop.rehearsal import Run


@dataclass(frozen=True)
class Work:
    """A published work.

    Attributes
    ----------
    kind
        BibTeX's word: article, book, inproceedings, techreport, software.
    authors
        Family name and initials of each, ``"Gawthrop, P. J."``.
    title
        Its title.
    year
        Its year.
    where
        The other fields of BibTeX: journal, volume, number, pages, publisher, institution, doi.

    Examples
    --------
    >>> print(WORKS["wallace2005"].words)
    Wallace, M. I., Wagg, D. J. and Neild, S. A. (2005). An adaptive polynomial based forward prediction
    algorithm for multi-actuator real-time dynamic substructuring. Proceedings of the Royal Society A,
    461(2064), 3807-3826.
    """

    kind: str
    authors: tuple[str, ...]
    title: str
    year: int
    where: Mapping[str, str] = field(default_factory=dict)

    @property
    def words(self) -> str:
        """The work in a line, as reference lists have it."""
        *first, last = self.authors
        names = f"{', '.join(first)} and {last}" if first else last
        places = ("journal", "booktitle", "publisher", "institution", "type")
        place = ", ".join(self.where[p] for p in places if p in self.where)
        issue = self.where.get("volume", "") + (f"({self.where['number']})" if "number" in self.where else "")
        rest = ", ".join(part for part in (place, issue, self.where.get("pages", "")) if part)
        return f"{names} ({self.year}). {self.title}." + (f" {rest}." if rest else "")

    def bibtex(self, key: str) -> str:
        """Return the entry of a bibliography, under a key."""
        fields = {
            "author": " and ".join(self.authors),
            "title": f"{{{self.title}}}",
            **{k: v.replace("-", "--") if k == "pages" else v for k, v in self.where.items()},
            "year": str(self.year),
        }
        lines = ",\n".join(f"  {name} = {{{_escaped(value)}}}" for name, value in fields.items())
        return f"@{self.kind}{{{key},\n{lines}\n}}"


def _escaped(text: str) -> str:
    r"""Return text for BibTeX; letters with accents are left, since UTF-8 has long been understood.

    >>> _escaped("Smith & Sons, 5 %")
    'Smith \\& Sons, 5 \\%'
    """
    return text.replace("&", r"\&").replace("%", r"\%").replace("#", r"\#")


def _article(authors: str, year: int, title: str, journal: str, volume: str = "", **more: str) -> Work:
    """Return an article; names are separated by semicolons, ``volume`` may be ``"34(6)"``."""
    number = volume.partition("(")[2].rstrip(")")
    where = {"journal": journal, "volume": volume.partition("(")[0], "number": number, **more}
    names = tuple(name.strip() for name in authors.split(";"))
    return Work("article", names, title, year, {k: v for k, v in where.items() if v})


EESD = "Earthquake Engineering & Structural Dynamics"
JSE = "Journal of Structural Engineering"
JEM = "Journal of Engineering Mechanics"
MSSP = "Mechanical Systems and Signal Processing"

OWN = Work(
    "software",
    ("{bondloop contributors}",),
    "bondloop: real-time hybrid tests from one model in Python",
    2026,
)
"""bondloop itself."""

WORKS: dict[str, Work] = {
    "gawthrop2005": _article(
        "Gawthrop, P. J.; Wallace, M. I.; Wagg, D. J.",
        2005,
        "Bond-graph based substructuring of dynamical systems",
        EESD,
        "34(6)",
    ),
    "wagg2001": _article(
        "Wagg, D. J.; Stoten, D. P.",
        2001,
        "Substructuring of dynamical systems via the adaptive minimal control synthesis algorithm",
        EESD,
        "30(6)",
    ),
    "dubois2010": Work(
        "article",
        ("du Bois, J. L.", "Titurus, B.", "Lieven, N. A. J."),
        "Transfer dynamics cancellation in real-time dynamic substructuring",
        2010,
    ),
    "bayer2000": Work(
        "inproceedings",
        ("Bayer, V.", "Dorka, U. E.", "Füllekrug, U."),
        "A new algorithm for real-time sub-structure pseudo-dynamic tests",
        2000,
        {"booktitle": "12th World Conference on Earthquake Engineering"},
    ),
    "dasilva1994": Work(
        "inproceedings",
        ("da Silva, F. R.", "Speranza Neto, M."),
        "The modelling of structural dynamics using bond graphs",
        1994,
    ),
    "wallace2005": _article(
        "Wallace, M. I.; Wagg, D. J.; Neild, S. A.",
        2005,
        "An adaptive polynomial based forward prediction algorithm for multi-actuator real-time dynamic "
        "substructuring",
        "Proceedings of the Royal Society A",
        "461(2064)",
        pages="3807-3826",
    ),
    "chae2013": _article(
        "Chae, Y.; Kazemibidokhti, K.; Ricles, J. M.",
        2013,
        "Adaptive time series compensator for delay compensation of servo-hydraulic actuator systems for "
        "real-time hybrid simulation",
        EESD,
        "42(11)",
        pages="1697-1715",
    ),
    "chen2015": _article(
        "Chen, P.-C.; Chang, C.-M.; Spencer, B. F.; Tsai, K.-C.",
        2015,
        "Adaptive model-based tracking control for real-time hybrid simulation",
        "Bulletin of Earthquake Engineering",
        "13(6)",
        pages="1683-1714",
    ),
    "palacio2019": _article(
        "Palacio-Betancur, A.; Gutierrez Soto, M.",
        2019,
        "Adaptive tracking control for real-time hybrid simulation of structures subjected to "
        "seismic loading",
        MSSP,
        "134",
        pages="106345",
    ),
    "phillips2013": _article(
        "Phillips, B. M.; Spencer, B. F.",
        2013,
        "Model-based feedforward-feedback actuator control for real-time hybrid simulation",
        JSE,
        "139(7)",
        pages="1205-1214",
    ),
    "zhao2003": _article(
        "Zhao, J.; French, C.; Shield, C.; Posbergh, T.",
        2003,
        "Considerations for the development of real-time dynamic testing using servo-hydraulic actuation",
        EESD,
        "32(11)",
    ),
    "mcfarlane1992": _article(
        "McFarlane, D.; Glover, K.",
        1992,
        "A loop shaping design procedure using H∞ synthesis",
        "IEEE Transactions on Automatic Control",
        "37(6)",
        pages="759-769",
    ),
    "gao2013": _article(
        "Gao, X.; Castaneda, N.; Dyke, S. J.",
        2013,
        "Real time hybrid simulation: from dynamic system, motion control to experimental error",
        EESD,
        "42(6)",
        pages="815-832",
    ),
    "karnopp1979": _article(
        "Karnopp, D.",
        1979,
        "Bond graphs in control: physical state variables and observers",
        "Journal of the Franklin Institute",
    ),
    "quiroz2024": _article(
        "Quiroz, M.; Gálmez, C.; Fermandois, G.",
        2024,
        "Robust decentralized adaptive compensation for the multi-axial real-time hybrid "
        "simulation benchmark",
        "Frontiers in Built Environment",
        "10",
        pages="1394952",
    ),
    "gawthrop2000": _article(
        "Gawthrop, P. J.",
        2000,
        "Sensitivity bond graphs",
        "Journal of the Franklin Institute",
        "337",
        pages="907-922",
    ),
    "ljung1999": Work(
        "book",
        ("Ljung, L.",),
        "System Identification: Theory for the User",
        1999,
        {"publisher": "Prentice Hall"},
    ),
    "rugh2000": _article(
        "Rugh, W. J.; Shamma, J. S.", 2000, "Research on gain scheduling", "Automatica", "36(10)"
    ),
    "slotine1984": _article(
        "Slotine, J.-J. E.",
        1984,
        "Sliding controller design for non-linear systems",
        "International Journal of Control",
        "40(2)",
    ),
    "li2021": _article(
        "Li, H.; Maghareh, A.; Montoya, H.; Condori Uribe, J. W.; Dyke, S. J.; Xu, Z.",
        2021,
        "Sliding mode control design for the benchmark problem in real-time hybrid simulation",
        MSSP,
        "151",
        pages="107364",
    ),
    "smith1957": _article(
        "Smith, O. J. M.",
        1957,
        "Closer control of loops with dead time",
        "Chemical Engineering Progress",
        "53(5)",
    ),
    "wang2019": _article(
        "Wang, Z.; Ning, X.; Xu, G.; Zhou, H.; Wu, B.",
        2019,
        "High performance compensation using an adaptive strategy for real-time hybrid simulation",
        MSSP,
        "133",
        pages="106262",
    ),
    "silva2020": _article(
        "Silva, C. E.; Gomez, D.; Maghareh, A.; Dyke, S. J.; Spencer, B. F.",
        2020,
        "Benchmark control problem for real-time hybrid simulation",
        MSSP,
        "135",
        pages="106381",
    ),
    "condori2023": _article(
        "Condori Uribe, J. W.; others",
        2023,
        "Experimental benchmark control problem for multi-axial real-time hybrid simulation",
        "Frontiers in Built Environment",
    ),
    "combescure1997": _article(
        "Combescure, D.; Pegon, P.",
        1997,
        "α-operator splitting time integration technique for pseudodynamic testing: error "  # noqa: RUF001
        "propagation analysis",
        "Soil Dynamics and Earthquake Engineering",
        "16",
    ),
    "takanashi1975": _article(
        "Takanashi, K.; others",
        1975,
        "Nonlinear earthquake response analysis of structures by a computer-actuator on-line system",
        "Bulletin of Earthquake Resistant Structure Research Center, University of Tokyo",
        "8",
    ),
    "chen2008": _article(
        "Chen, C.; Ricles, J. M.",
        2008,
        "Development of direct integration algorithms for structural dynamics using discrete control theory",
        JEM,
        "134(8)",
    ),
    "hilber1977": _article(
        "Hilber, H. M.; Hughes, T. J. R.; Taylor, R. L.",
        1977,
        "Improved numerical dissipation for time integration algorithms in structural dynamics",
        EESD,
        "5",
    ),
    "shing1991": _article(
        "Shing, P. B.; Vannan, M. T.; Cater, E.",
        1991,
        "Implicit time integration for pseudodynamic tests",
        EESD,
        "20",
    ),
    "kolay2014": _article(
        "Kolay, C.; Ricles, J. M.",
        2014,
        "Development of a family of unconditionally stable explicit direct integration algorithms with "
        "controllable numerical energy dissipation",
        EESD,
        "43",
    ),
    "newmark1959": _article(
        "Newmark, N. M.",
        1959,
        "A method of computation for structural dynamics",
        "Journal of the Engineering Mechanics Division",
        "85(EM3)",
    ),
    "bursi2008": _article(
        "Bursi, O. S.; Gonzalez-Buelga, A.; Vulcan, L.; Neild, S. A.; Wagg, D. J.",
        2008,
        "Novel coupling Rosenbrock-based algorithms for real-time dynamic substructure testing",
        EESD,
        "37",
    ),
    "guo2014": _article(
        "Guo, T.; Chen, C.; Xu, W.; Sanchez, F.",
        2014,
        "A frequency response analysis approach for quantitative assessment of actuator tracking for "
        "real-time hybrid simulation",
        "Smart Materials and Structures",
        "23(4)",
    ),
    "mercan2007": _article(
        "Mercan, O.; Ricles, J. M.",
        2007,
        "Stability and accuracy analysis of outer loop dynamics in real-time pseudodynamic testing "
        "of SDOF systems",
        EESD,
        "36(11)",
    ),
    "mosqueda2007": _article(
        "Mosqueda, G.; Stojadinović, B.; Mahin, S. A.",
        2007,
        "Real-time error monitoring for hybrid simulation",
        JSE,
        "133(8)",
    ),
    "simo1998": Work(
        "book",
        ("Simo, J. C.", "Hughes, T. J. R."),
        "Computational Inelasticity",
        1998,
        {"publisher": "Springer"},
    ),
    "wen1976": _article(
        "Wen, Y.-K.",
        1976,
        "Method for random vibration of hysteretic systems",
        "Journal of the Engineering Mechanics Division",
        "102",
    ),
    "baber1981": _article(
        "Baber, T. T.; Wen, Y.-K.",
        1981,
        "Random vibration of hysteretic, degrading systems",
        "Journal of the Engineering Mechanics Division",
        "107",
    ),
    "baber1985": _article(
        "Baber, T. T.; Noori, M. N.", 1985, "Random vibration of degrading, pinching systems", JEM, "111"
    ),
    "foliente1995": _article(
        "Foliente, G. C.", 1995, "Hysteresis modeling of wood joints and structural systems", JSE, "121"
    ),
    "black2004": _article(
        "Black, C. J.; Makris, N.; Aiken, I. D.",
        2004,
        "Component testing, seismic evaluation and characterization of buckling-restrained braces",
        JSE,
        "130",
    ),
    "park1986": _article(
        "Park, Y. J.; Wen, Y. K.; Ang, A. H.-S.",
        1986,
        "Random vibration of hysteretic systems under bi-directional ground motions",
        EESD,
        "14",
    ),
    "constantinou1993": _article(
        "Constantinou, M. C.; Symans, M. D.",
        1993,
        "Experimental study of seismic response of buildings with supplemental fluid dampers",
        "The Structural Design of Tall Buildings",
        "2",
    ),
    "constantinou1990": _article(
        "Constantinou, M.; Mokha, A.; Reinhorn, A.",
        1990,
        "Teflon bearings in base isolation II: modeling",
        JSE,
        "116",
    ),
    "smith2002": _article(
        "Smith, M. C.",
        2002,
        "Synthesis of mechanical networks: the inerter",
        "IEEE Transactions on Automatic Control",
        "47",
    ),
    "kalpakidis2010": _article(
        "Kalpakidis, I. V.; Constantinou, M. C.; Whittaker, A. S.",
        2010,
        "Modeling strength degradation in lead-rubber bearings under earthquake shaking",
        EESD,
        "39",
    ),
    "gao1997": _article(
        "Gao, H.; Kwok, K. C. S.; Samali, B.",
        1997,
        "Optimization of tuned liquid column dampers",
        "Engineering Structures",
        "19",
    ),
    "spencer1997": _article(
        "Spencer, B. F.; Dyke, S. J.; Sain, M. K.; Carlson, J. D.",
        1997,
        "Phenomenological model for magnetorheological dampers",
        JEM,
        "123(3)",
    ),
    "yang2002": _article(
        "Yang, G.; Spencer, B. F.; Carlson, J. D.; Sain, M. K.",
        2002,
        "Large-scale MR fluid dampers: modeling and dynamic performance considerations",
        "Engineering Structures",
        "24",
    ),
    "iwan1967": _article(
        "Iwan, W. D.",
        1967,
        "On a class of models for the yielding behavior of continuous and composite systems",
        "Journal of Applied Mechanics",
        "34",
    ),
    "ramberg1943": Work(
        "techreport",
        ("Ramberg, W.", "Osgood, W. R."),
        "Description of stress-strain curves by three parameters",
        1943,
        {"institution": "NACA", "number": "TN 902"},
    ),
    "menegotto1973": Work(
        "inproceedings",
        ("Menegotto, M.", "Pinto, P. E."),
        "Method of analysis for cyclically loaded R.C. plane frames",
        1973,
        {"booktitle": "IABSE Symposium"},
    ),
    "filippou1983": Work(
        "techreport",
        ("Filippou, F. C.", "Popov, E. P.", "Bertero, V. V."),
        "Effects of bond deterioration on hysteretic behavior of reinforced concrete joints",
        1983,
        {"institution": "University of California, Berkeley", "number": "UCB/EERC-83/19"},
    ),
    "fenz2008": _article(
        "Fenz, D. M.; Constantinou, M. C.",
        2008,
        "Spherical sliding isolation bearings with adaptive behavior: theory",
        EESD,
        "37",
    ),
    "denhartog1956": Work(
        "book", ("Den Hartog, J. P.",), "Mechanical Vibrations", 1956, {"publisher": "McGraw-Hill"}
    ),
    "ni1999": _article(
        "Ni, Y. Q.; Ko, J. M.; Wong, C. W.; Zhan, S.",
        1999,
        "Modelling and identification of a wire-cable vibration isolator via a cyclic loading test",
        "Proceedings of the Institution of Mechanical Engineers, Part I",
        "213",
    ),
}

SOURCES: dict[str, tuple[str, ...]] = {
    # controllers
    "AdaptiveCoupledInverse": ("quiroz2024",),
    "AdaptiveModelBased": ("chen2015",),
    "AdaptivePrediction": ("wallace2005",),
    "AdaptiveTimeSeries": ("chae2013",),
    "AdaptiveVirtualJunction": ("gawthrop2005",),
    "ConditionalTimeSeries": ("palacio2019",),
    "DiscreteMCS": ("wagg2001",),
    "FeedforwardLQG": ("phillips2013",),
    "InverseModel": ("dubois2010",),
    "LeadCompensation": ("zhao2003",),
    "LoopShaping": ("mcfarlane1992", "gao2013"),
    "MCS": ("wagg2001",),
    "ObservedVirtualJunction": ("gawthrop2005", "karnopp1979"),
    "PolynomialPrediction": ("wallace2005",),
    "RecursiveFir": ("quiroz2024",),
    "Scheduled": ("rugh2000", "dubois2010"),
    "SensitivityVirtualJunction": ("gawthrop2005", "gawthrop2000", "ljung1999"),
    "SlidingMode": ("slotine1984", "li2021"),
    "SmithPredictor": ("smith1957",),
    "TwoStageAdaptive": ("wang2019",),
    "VirtualJunction": ("gawthrop2005",),
    # schemes and integrators
    "AlphaOS": ("combescure1997",),
    "CentralDifference": ("takanashi1975",),
    "ChenRicles": ("chen2008",),
    "HHTAlpha": ("hilber1977", "shing1991"),
    "KRAlpha": ("kolay2014",),
    "NewmarkAverage": ("newmark1959",),
    "NewmarkExplicit": ("newmark1959",),
    "NewmarkImplicit": ("newmark1959",),
    "Rosenbrock": ("bursi2008",),
    "SubStep": ("bayer2000",),
    # devices
    "BaberNoori": ("baber1985", "foliente1995"),
    "Bilinear": ("simo1998",),
    "BoucWen": ("wen1976", "baber1981"),
    "BucklingRestrainedBrace": ("black2004", "simo1998"),
    "ElastomericBearing": ("park1986",),
    "FluidViscousDamper": ("constantinou1993",),
    "FrictionPendulum": ("constantinou1990",),
    "GiuffreMenegottoPinto": ("menegotto1973", "filippou1983"),
    "Inerter": ("smith2002",),
    "LeadRubberBearing": ("kalpakidis2010",),
    "MRDamper": ("spencer1997", "yang2002"),
    "Multilinear": ("iwan1967",),
    "PowerDamper": ("constantinou1993",),
    "RambergOsgood": ("ramberg1943",),
    "TripleFrictionPendulum": ("fenz2008",),
    "TunedLiquidColumn": ("gao1997",),
    "TunedMass": ("denhartog1956",),
    "WireRope": ("ni1999",),
    # ready-made tests and models
    "bayer-substep": ("bayer2000",),
    "dasilva-beam": ("dasilva1994",),
    "dasilva-beam-plain": ("dasilva1994",),
    "dubois-damper": ("dubois2010",),
    "gawthrop-three-mass": ("gawthrop2005", "wagg2001"),
    "gawthrop-two-actuators": ("gawthrop2005",),
    "marths-actuators": ("condori2023",),
    "marths-frame": ("condori2023",),
    "marths-reference": ("condori2023",),
    "silva-frame": ("silva2020",),
    "silva-servo": ("silva2020",),
    "wagg-three-mass": ("wagg2001",),
    "wagg-two-mass-rig": ("wagg2001",),
}
"""The works by what a description calls a part."""

TEXTBOOK = frozenset(
    {
        *("AdaptiveRemainder", "ControlLaw", "CoupledInverse", "Direct", "LoadFeedforward", "OuterLoop"),
        *("PerActuator", "PythonControl", "Exact", "ForwardEuler", "Modal", "RK4"),
        *("Gap", "Hook", "KelvinVoigt", "Maxwell"),
    }
)
"""Controllers, integrators and devices that are textbook matter, or bondloop's own."""


MEASURES = ("guo2014", "mercan2007", "mosqueda2007")
"""Behind the measures of every run with a transfer system."""


def cite(source: Rehearsable | Run) -> str:
    """Return the BibTeX entries of bondloop and of the works whose methods a test uses.

    Parameters
    ----------
    source
        A test, or a run of one.

    Examples
    --------
    >>> from bondloop.papers import gawthrop_three_mass
    >>> print(cite(gawthrop_three_mass.test()))
    @software{bondloop,
      author = {{bondloop contributors}},
      title = {{bondloop: real-time hybrid tests from one model in Python}},
      version = {...},
      year = {2026}
    }
    <BLANKLINE>
    @article{gawthrop2005,
    ...
    """
    described = source.describe() if hasattr(source, "describe") else source.record.description
    own = OWN.bibtex("bondloop").replace("  year", f"  version = {{{bondloop.__version__}}},\n  year")
    return "\n\n".join([own, *(WORKS[key].bibtex(key) for key in works_of(described))])


def works_of(description: Mapping[str, object]) -> list[str]:
    """Return the keys of the works behind what a description names, each once, in its order.

    Parameters
    ----------
    description
        Of a test.

    Examples
    --------
    >>> works_of({"controller": {"controller": "MCS"}, "integrator": {"integrator": "RK4"}})
    ['wagg2001']
    """
    found = [key for word in _words(description) for key in SOURCES.get(word, ())]
    if description.get("rig") is not None:
        found += MEASURES
    return list(dict.fromkeys(found))


def _words(value: object) -> Iterator[str]:
    """Yield every text of a description, but those of the recorded tick."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            if key != "repeat":
                yield from _words(inner)
    elif isinstance(value, list):
        for inner in value[:100]:
            yield from _words(inner)
