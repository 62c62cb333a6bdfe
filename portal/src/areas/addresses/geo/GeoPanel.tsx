import { useQuery } from '@tanstack/react-query';
import { Globe, Pencil, Plus, Trash2 } from 'lucide-react';
import { useState } from 'react';
import { ListPanel } from '../../../components/list/ListPanel.tsx';
import { Pill } from '../../../components/Pill.tsx';
import { RoleButton } from '../../../components/RoleButton.tsx';
import { RoleIcon } from '../../../components/RoleIcon.tsx';
import { WriteDialog } from '../../../components/forms/WriteDialog.tsx';
import type { GeoRule } from '@portcullis/client/index.ts';
import { geoMessages } from '../../../messages/geo.ts';
import { messages } from '../../../messages/index.ts';
import { targetOn } from '../target-on.ts';
import { describeGeo, geoDraftOf, inputOfGeo, newGeoDraft } from './geo-draft.ts';
import { GeoEditor } from './GeoEditor.tsx';
import { GeoSources } from './GeoSources.tsx';
import { usePeopleClient } from '../../../session/session.ts';
import { WorldMap } from './WorldMap.tsx';

const text = geoMessages;
const LIST_MS = 15_000;

/** The geo rules that apply to an address, and the form that makes one. */
export default function GeoPanel({ ip }: { readonly ip: string }) {
  const client = usePeopleClient();
  const rules = useQuery({
    queryKey: ['geo-rules'],
    queryFn: async ({ signal }) => (await client.listGeoRules({}, { signal })).data,
    refetchInterval: LIST_MS,
  });
  const [edited, setEdited] = useState<GeoRule | 'new' | null>(null);
  const [deleted, setDeleted] = useState<GeoRule | null>(null);
  return (
    <>
      <ListPanel
        title={messages.address.tabs.geo}
        lead={text.lead}
        actions={
          <RoleButton
            needs="admin"
            leftSection={<Plus size={15} aria-hidden="true" />}
            onClick={() => setEdited('new')}
          >
            {text.add}
          </RoleButton>
        }
        above={
          edited !== null && (
            <GeoEditor
              key={edited === 'new' ? 'new' : edited.id}
              id={edited === 'new' ? null : edited.id}
              initial={edited === 'new' ? newGeoDraft(ip) : geoDraftOf(edited)}
              onClose={() => setEdited(null)}
            />
          )
        }
        query={rules}
        rows={rules.data?.filter(({ targets }) => targetOn(ip, targets) !== null)}
        {...(edited === null && { empty: { icon: Globe, ...text.empty } })}
      >
        {(here) => (
          <ul className="geo-rules">
            {here.map((rule) => (
              <Rule
                key={rule.id}
                ip={ip}
                rule={rule}
                onEdit={() => setEdited(rule)}
                onDelete={() => setDeleted(rule)}
              />
            ))}
          </ul>
        )}
      </ListPanel>
      <GeoSources />
      {deleted !== null && (
        <WriteDialog
          title={text.deleteTitle}
          submit={text.deleteConfirm}
          isFinal
          write={() => client.deleteGeoRule({ geo_rule: deleted.id })}
          say={({ data }) => ({
            text: text.deleted,
            generation: data.generation,
            undo: () => client.createGeoRule({ body: inputOfGeo(geoDraftOf(deleted)) }),
          })}
          onClose={() => setDeleted(null)}
        >
          {text.deleteText(deleted.targets.join(', '))}
        </WriteDialog>
      )}
    </>
  );
}

interface RuleProps {
  readonly ip: string;
  readonly rule: GeoRule;
  onEdit(): void;
  onDelete(): void;
}

function Rule({ ip, rule, onEdit, onDelete }: RuleProps) {
  const { action, countries, targets, owner } = rule;
  const on = targetOn(ip, targets);
  const what = describeGeo(rule);
  return (
    <li>
      <WorldMap marked={new Set(countries)} action={action} />
      <div className="tools-title">
        <div className="row">
          <Pill tone={action === 'deny' ? 'bad' : 'ok'} plain>
            {text.shown[action]}
          </Pill>
          <span className="strong">{what}</span>
        </div>
        <span className="dim">
          {on === ip || on === null ? text.here : text.fromPrefix(on)}
          {targets.length > 1 && ` ${text.alsoOn(targets.length - 1)}`}
          {owner === 'fleet' && `. ${text.fleet}`}
        </span>
      </div>
      {owner !== 'fleet' && (
        <div className="row-end">
          <RoleIcon needs="admin" label={text.edit(what)} onClick={onEdit}>
            <Pencil size={15} />
          </RoleIcon>
          <RoleIcon needs="admin" label={text.delete(what)} onClick={onDelete}>
            <Trash2 size={15} />
          </RoleIcon>
        </div>
      )}
    </li>
  );
}
