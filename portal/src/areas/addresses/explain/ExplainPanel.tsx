import { SegmentedControl, Select, TextInput } from '@mantine/core';
import type { ExplainRequest, Explanation } from '@portcullis/client/index.ts';
import { parseAddress } from '@portcullis/core/net/address.ts';
import { useState } from 'react';
import { Card } from '../../../components/Card.tsx';
import { WriteForm } from '../../../components/forms/WriteForm.tsx';
import { messages } from '../../../messages/index.ts';
import { useSession } from '../../../session/session.ts';
import type { AcceptedView } from '../queries.ts';
import { hasPorts } from '../rules/rule-draft.ts';
import { Stages, Verdict } from './Verdict.tsx';

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

const EMPTY: Typed = { protocol: 'tcp', source: '', port: '', view: 'accepted' };

/** "Would this packet pass?", answered by the evaluator that the edges are tested against, and by each edge. */
export function ExplainPanel({ ip, view }: Props) {
  const { client } = useSession();
  const [explained, setExplained] = useState<Explanation | null>(null);
  return (
    <div className="stack">
      <section className="card card-pad">
        <h2>{text.title}</h2>
        <p>{text.lead}</p>
        <WriteForm
          initial={EMPTY}
          refusal={(typed) => wrongWith(typed, ip) !== null}
          isLocal
          write={(typed) => client.explainPacket({ ip, body: requestOf(typed) })}
          pointers={{ '/source_ip': 'source', '/destination_port': 'port' }}
          onDone={setExplained}
          submit={text.submit}
        >
          {(form) => {
            const { protocol, source, port } = form.values;
            const problem = wrongWith(form.values, ip);
            return (
              <div className="form-row">
                <Select
                  className="field-s"
                  label={messages.rules.protocol}
                  data={PROTOCOLS.map((value) => ({
                    value,
                    label: messages.rules.protocols[value],
                  }))}
                  allowDeselect={false}
                  {...form.getInputProps('protocol')}
                />
                <TextInput
                  className="field"
                  label={text.source}
                  placeholder={text.anywhere}
                  {...form.getInputProps('source')}
                  error={(source !== '' && problem?.source) || form.errors.source}
                />
                {hasPorts(protocol) && (
                  <TextInput
                    className="field-s"
                    label={text.port}
                    placeholder="25565"
                    inputMode="numeric"
                    required
                    {...form.getInputProps('port')}
                    error={(port !== '' && problem?.port) || form.errors.port}
                  />
                )}
                <div>
                  <div className="label">{text.view}</div>
                  <SegmentedControl
                    aria-label={text.view}
                    data={[
                      { value: 'accepted', label: text.accepted },
                      { value: 'live', label: text.live },
                    ]}
                    {...form.getInputProps('view', { withError: false })}
                  />
                </div>
              </div>
            );
          }}
        </WriteForm>
      </section>
      {explained === null ? (
        <Card title={text.way} lead={text.wayLead}>
          <Stages decided={null} />
        </Card>
      ) : (
        <Verdict result={explained.data} view={view} />
      )}
    </div>
  );
}

function wrongWith(
  { protocol, source, port }: Typed,
  ip: string,
): { readonly source?: string; readonly port?: string } | null {
  const problem = source.trim() === '' ? null : wrongSource(source.trim(), ip);
  if (problem !== null) return { source: problem };
  if (!hasPorts(protocol)) return null;
  const isPort = /^[1-9]\d{0,4}$/.test(port.trim()) && Number(port) <= 65_535;
  return isPort ? null : { port: text.badPort };
}

function wrongSource(source: string, ip: string): string | null {
  const address = parseAddress(source);
  if (!address.ok) return address.reason;
  const own = parseAddress(ip);
  if (!own.ok || own.value.family === address.value.family) return null;
  return messages.rules.otherFamily(own.value.family);
}

function requestOf({ protocol, source, port, view }: Typed): ExplainRequest {
  return {
    protocol,
    source_ip: source.trim() || null,
    view,
    ...(hasPorts(protocol) && { destination_port: Number(port) }),
  };
}
