import { Button, SegmentedControl, Select, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import type { ExplainRequest } from '@portcullis/client/index.ts';
import { parseAddress } from '@portcullis/core/net/address.ts';
import { type SubmitEvent, useState } from 'react';
import { Notice } from '../../../components/Notice.tsx';
import { messages } from '../../../messages/index.ts';
import { useSession } from '../../../session/session.ts';
import type { AcceptedView } from '../queries.ts';
import { Verdict } from './Verdict.tsx';

const text = messages.explain;
const PROTOCOLS = ['tcp', 'udp', 'icmp', 'gre', 'esp'] as const;

interface Props {
  readonly ip: string;
  readonly view: AcceptedView;
}

interface Typed {
  readonly protocol: (typeof PROTOCOLS)[number];
  readonly source: string;
  readonly port: string;
  readonly view: 'accepted' | 'live';
}

/** "Would this packet pass?", answered by the evaluator that the edges are tested against, and by each edge. */
export function ExplainPanel({ ip, view }: Props) {
  const { client } = useSession();
  const [typed, setTyped] = useState<Typed>({
    protocol: 'tcp',
    source: '',
    port: '',
    view: 'accepted',
  });
  const explain = useMutation({
    mutationFn: (body: ExplainRequest) => client.explainPacket({ ip, body }),
  });
  const takesPort = typed.protocol === 'tcp' || typed.protocol === 'udp';
  const problem = wrongWith(typed, ip, takesPort);
  const change = (part: Partial<Typed>): void => setTyped({ ...typed, ...part });
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    if (problem === null) explain.mutate(requestOf(typed, takesPort));
  };
  return (
    <div className="stack">
      <form className="card card-pad" onSubmit={submit}>
        <h2>{text.title}</h2>
        <p>{text.lead}</p>
        <div className="form-row">
          <Select
            className="field-s"
            label={messages.rules.protocol}
            value={typed.protocol}
            onChange={(protocol) => change({ protocol: protocol as Typed['protocol'] })}
            data={PROTOCOLS.map((value) => ({ value, label: messages.rules.protocols[value] }))}
          />
          <TextInput
            className="field"
            label={text.source}
            placeholder={ip.includes(':') ? '2001:db8:7::7' : '198.51.100.7'}
            value={typed.source}
            onChange={(event) => change({ source: event.currentTarget.value })}
            error={typed.source === '' ? undefined : problem?.source}
            required
          />
          {takesPort && (
            <TextInput
              className="field-s"
              label={text.port}
              placeholder="25565"
              inputMode="numeric"
              value={typed.port}
              onChange={(event) => change({ port: event.currentTarget.value })}
              error={typed.port === '' ? undefined : problem?.port}
              required
            />
          )}
          <div>
            <div className="label">{text.view}</div>
            <SegmentedControl
              aria-label={text.view}
              value={typed.view}
              onChange={(value) => change({ view: value })}
              data={[
                { value: 'accepted', label: text.accepted },
                { value: 'live', label: text.live },
              ]}
            />
          </div>
        </div>
        <Button type="submit" mt="md" loading={explain.isPending} disabled={problem !== null}>
          {text.submit}
        </Button>
      </form>
      {explain.error !== null && <Notice kind="bad">{explain.error.message}</Notice>}
      {explain.data !== undefined && <Verdict result={explain.data.data} view={view} />}
    </div>
  );
}

function wrongWith(
  { source, port }: Typed,
  ip: string,
  takesPort: boolean,
): { readonly source?: string; readonly port?: string } | null {
  const address = parseAddress(source.trim());
  if (!address.ok) return { source: address.reason };
  const own = parseAddress(ip);
  if (own.ok && own.value.family !== address.value.family) {
    return { source: messages.rules.otherFamily(own.value.family) };
  }
  if (!takesPort) return null;
  const isPort = /^[1-9]\d{0,4}$/.test(port.trim()) && Number(port) <= 65_535;
  return isPort ? null : { port: text.badPort };
}

function requestOf({ protocol, source, port, view }: Typed, takesPort: boolean): ExplainRequest {
  return {
    protocol,
    source_ip: source.trim(),
    view,
    ...(takesPort && { destination_port: Number(port) }),
  };
}
