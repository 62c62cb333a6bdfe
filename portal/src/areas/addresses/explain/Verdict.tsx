import type { Explanation } from '@portcullis/client/index.ts';
import { CircleCheck, CircleX } from 'lucide-react';
import { DropBars } from '../../../components/figures/Bars.tsx';
import { Notice } from '../../../components/Notice.tsx';
import { Pill } from '../../../components/Pill.tsx';
import { messages } from '../../../messages/index.ts';
import { GeoSources } from '../geo/GeoSources.tsx';
import type { AcceptedView } from '../queries.ts';

const text = messages.explain;
type Result = Explanation['data'];

const STAGES = [
  'management',
  'needed-icmp',
  'fragment-limits',
  'return-traffic',
  'mitigations',
  'baseline',
  'blocked-sources',
  'named-allows',
  'geo',
  'rules',
  'default',
  'filters',
] as const;

interface Props {
  readonly result: Result;
  readonly view: AcceptedView;
}

export function Verdict({ result, view }: Props) {
  const passes = result.verdict === 'pass';
  const isEnforced = view.meta.live_generation !== null;
  const open = result.open_to;
  const dropWords = isEnforced ? text.dropped : text.wouldDrop;
  const verdictWords = passes ? text.passes : dropWords;
  const Icon = passes ? CircleCheck : CircleX;
  return (
    <>
      <section className={`verdict ${result.verdict}`} aria-live="polite">
        <Icon size={26} aria-hidden="true" />
        <div>
          <h3>
            {open === null ? verdictWords : (messages.server.ports.openTo[open.to] ?? open.to)}
          </h3>
          <p>{result.explanation}</p>
        </div>
      </section>
      {result.differences.length > 0 && (
        <Notice kind="warn">
          {result.differences.map((difference) => (
            <p key={difference}>{difference}</p>
          ))}
        </Notice>
      )}
      {result.dropped.length > 0 && (
        <section className="card card-pad">
          <h2>{text.lastHour}</h2>
          <p>{text.lastHourLead}</p>
          <DropBars
            totals={result.dropped}
            packets={result.dropped.reduce((sum, { packets }) => sum + packets, 0)}
          />
        </section>
      )}
      {open === null && (
        <div className="two">
          <section className="card card-pad">
            <h2>{text.way}</h2>
            <p>{text.wayLead}</p>
            <DecidingRule result={result} view={view} />
            <Stages decided={result.stage} />
          </section>
          <section className="card card-pad">
            <h2>{text.edges}</h2>
            <p>{text.edgesLead}</p>
            {result.edges.length === 0 && <p className="dim">{text.noEdges}</p>}
            {result.edges.map((edge) => (
              <EdgeAnswer key={edge.name} edge={edge} />
            ))}
          </section>
        </div>
      )}
      <GeoSources />
    </>
  );
}

/** The stages in their order, up to the one that decided; null: nothing was asked yet. */
export function Stages({ decided }: { readonly decided: string | null }) {
  const last = STAGES.findIndex((stage) => stage === decided);
  return (
    <ol className="stages">
      {STAGES.map((stage, index) => {
        const state = index < last ? 'passed' : index === last ? 'decided' : 'unreached';
        return (
          <li
            key={stage}
            data-state={state}
            aria-current={state === 'decided' ? 'step' : undefined}
          >
            {text.stages[stage]}
            {state === 'decided' && <span className="row-end">{text.decided}</span>}
          </li>
        );
      })}
    </ol>
  );
}

function DecidingRule({ result: { decided_by: by }, view }: Props) {
  if (by === null) return null;
  const rule = view.data.rules.find(({ id }) => id === by.id);
  const isRule = by.kind === 'rule' || by.kind === 'group_rule';
  return (
    <p className="row decided">
      <Pill tone="info">{text.kindOf(by.kind, by.id)}</Pill>
      {isRule && rule !== undefined && (
        <span className="mono">
          {rule.action} {rule.protocol} {rule.destination_port ?? messages.rules.any}{' '}
          {rule.source_ip ?? messages.rules.anywhere}
        </span>
      )}
      {by.managed_by_group !== null && (
        <span className="dim">{text.ofGroup(by.managed_by_group.name)}</span>
      )}
    </p>
  );
}

function EdgeAnswer({ edge }: { readonly edge: Result['edges'][number] }) {
  const { name, answer } = edge;
  return (
    <div className="edge">
      <strong>{name}</strong>
      <div className="dim">{answer?.explanation ?? text.silent}</div>
      <div className="row">
        {answer === null ? (
          <Pill tone="warn">{text.noAnswer}</Pill>
        ) : (
          <Pill tone={answer.verdict === 'pass' ? 'ok' : 'bad'}>
            {text.verdicts[answer.verdict]}
          </Pill>
        )}
        {answer?.mode === 'observe' && <Pill tone="warn">{text.observes}</Pill>}
        {answer?.mode === 'no_device' && <Pill tone="bad">{text.noDevice}</Pill>}
        {answer?.up_to_date === false && <Pill tone="warn">{text.behind}</Pill>}
      </div>
    </div>
  );
}
