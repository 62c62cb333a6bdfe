import { NumberInput, SegmentedControl, Select, Textarea } from '@mantine/core';
import { useState } from 'react';
import { Card } from '../../../components/Card.tsx';
import { Loaded } from '../../../components/Loaded.tsx';
import { WriteForm } from '../../../components/forms/WriteForm.tsx';
import { operatorMessages } from '../../../messages/operator.ts';
import { personClient } from '../../../session/session.ts';
import { OwnerPill } from '../OwnerPill.tsx';
import { type Organisation, useDeclared, useTag } from '../queries.ts';
import {
  bodyOf,
  draftOf,
  inheritedOf,
  isSet,
  scopesOf,
  setOf,
  type ThresholdScope,
} from './thresholds-draft.ts';

const text = operatorMessages.thresholds;
const MODES = ['inherit', 'off', 'observe', 'on'] as const;
const FIELDS = [
  ['pps', 'pps', text.pps],
  ['mbps', 'mbps', text.mbps],
  ['holdSeconds', 'hold_seconds', text.hold],
] as const;

/** When traffic is an attack: for the organisation, a service, or a prefix or address. */
export function ThresholdsCard({ organisation }: { readonly organisation: Organisation }) {
  const scopes = scopesOf(organisation);
  const [chosen, setChosen] = useState('organisation');
  const scope = scopes.find(({ key }) => key === chosen) ?? scopes[0];
  if (scope === undefined) return null;
  return (
    <Card title={text.title} lead={text.lead}>
      <div className="stack">
        <Select
          label={
            <>
              {text.scope} <OwnerPill owner={scope.owner} />
            </>
          }
          aria-label={text.scope}
          data={scopes.map((each) => ({
            value: each.key,
            label: text.scopeName(each.name, isSet(each)),
          }))}
          value={scope.key}
          onChange={(key) => key !== null && setChosen(key)}
          searchable
        />
        <ThresholdsForm key={scope.key} slug={organisation.slug} scope={scope} all={scopes} />
      </div>
    </Card>
  );
}

interface FormProps {
  readonly slug: string;
  readonly scope: ThresholdScope;
  readonly all: readonly ThresholdScope[];
}

function ThresholdsForm(props: FormProps) {
  const { slug, scope } = props;
  const read = useDeclared(['thresholds', slug, scope.key], (how) => readScope(slug, scope, how));
  return (
    <Loaded query={read} rows={4}>
      {({ data, response }) => (
        <ThresholdsFields {...props} etag={response.etag} shown={setOf(data)} />
      )}
    </Loaded>
  );
}

function ThresholdsFields({
  slug,
  scope,
  all,
  etag,
  shown,
}: FormProps & { readonly etag: string | null; readonly shown: ThresholdScope['set'] }) {
  const bound = useTag(etag, shown);
  const isReadOnly = scope.owner === 'fleet';
  return (
    <>
      <WriteForm
        initial={draftOf(scope)}
        submit={isReadOnly ? null : text.save}
        saved={operatorMessages.organisations.saved}
        pointers={{
          '/thresholds/pps': 'pps',
          '/thresholds/mbps': 'mbps',
          '/thresholds/hold_seconds': 'holdSeconds',
        }}
        write={(draft) => bound((how) => changeScope({ slug, scope, body: bodyOf(draft) }, how))}
      >
        {({ getInputProps }) => (
          <>
            <div className="limits">
              {FIELDS.map(([field, sent, label]) => (
                <NumberInput
                  key={field}
                  label={label}
                  placeholder={text.inherited(inheritedOf(scope, sent, all))}
                  min={1}
                  max={2_147_483_647}
                  allowDecimal={false}
                  thousandSeparator=","
                  readOnly={isReadOnly}
                  hideControls
                  {...getInputProps(field)}
                />
              ))}
            </div>
            <div>
              <div className="label">{text.mitigation}</div>
              <SegmentedControl
                aria-label={text.mitigation}
                data={MODES.map((value) => ({ value, label: text.modes[value] }))}
                readOnly={isReadOnly}
                {...getInputProps('mitigation')}
              />
            </div>
            <Textarea
              label={text.safelist}
              description={text.safelistText}
              rows={2}
              readOnly={isReadOnly}
              spellCheck={false}
              {...getInputProps('safelist')}
            />
          </>
        )}
      </WriteForm>
      {isReadOnly && <p className="dim flat">{text.ofFleet}</p>}
    </>
  );
}

interface Change {
  readonly slug: string;
  readonly scope: ThresholdScope;
  readonly body: ReturnType<typeof bodyOf>;
}

interface ReadScope {
  readonly data: Parameters<typeof setOf>[0];
  readonly response: { readonly etag: string | null };
}

/** Reads the organisation, the service or the holding whose settings these are. */
function readScope(
  slug: string,
  { scope, id }: ThresholdScope,
  how: { readonly signal: AbortSignal },
): Promise<ReadScope> {
  const at = { organisation: slug, id: id ?? 0 };
  if (scope === 'service') return personClient.readService(at, how);
  if (scope === 'holding') return personClient.readHolding(at, how);
  return personClient.readOrganisation({ slug }, how);
}

function changeScope(
  { slug, scope: { scope, id }, body }: Change,
  how: { readonly ifMatch?: string },
): Promise<{ readonly response: { readonly etag: string | null } }> {
  const at = { organisation: slug, id: id ?? 0, body };
  if (scope === 'service') return personClient.changeService(at, how);
  if (scope === 'holding') return personClient.changeHolding(at, how);
  return personClient.changeOrganisation({ slug, body }, how);
}
