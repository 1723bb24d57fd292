from bondloop.realtime.console.console import Console as Console
from bondloop.realtime.console.mailbox import Mailbox as Mailbox
from bondloop.realtime.console.mailbox import Ticket as Ticket
from bondloop.realtime.console.preflight import Item as Item
from bondloop.realtime.console.preflight import Preflight as Preflight
