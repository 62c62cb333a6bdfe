"""Uses the clients that openapi-python-client makes; run by lab/clients/run."""

import os

from v1 import AuthenticatedClient
from v1.api.attacks import list_attacks
from v1.api.firewall import create_rules, delete_rules
from v1.api.game_servers import list_game_servers
from v1.models import Problem, RuleAction, RuleDeletion, RuleInput, RuleProtocol
from x1 import AuthenticatedClient as NextClient
from x1.api.firewall import read_accepted_address, replace_address
from x1.models import AddressReplacement

IP = "203.0.113.12"
base, key = os.environ["BASE_URL"], os.environ["FUZZ_KEY"]
v1 = AuthenticatedClient(base_url=f"{base}/api/v1", token=key)
x1 = NextClient(base_url=f"{base}/api/x1", token=key)

chargen = RuleInput(action=RuleAction.DENY, protocol=RuleProtocol.UDP, destination_port="19")
created = create_rules.sync(IP, client=v1, body=chargen)
assert created.data.created == 1, created
refused = create_rules.sync("192.0.2.1", client=v1, body=chargen)
assert isinstance(refused, Problem) and refused.status == 404, refused

# What a read answers can be sent back, and nothing changes.
read = read_accepted_address.sync(IP, client=x1)
body = AddressReplacement.from_dict(read.data.to_dict())
replaced = replace_address.sync_detailed(IP, client=x1, body=body)
assert replaced.status_code == 200, replaced.content

deleted = delete_rules.sync_detailed(IP, client=v1, body=RuleDeletion(ids=created.data.ids))
assert deleted.status_code == 200, deleted.content
assert list_attacks.sync(client=v1).data is not None
assert list_game_servers.sync(client=v1).data
print("clients: Python (openapi-python-client) reads, writes and understands refusals")
