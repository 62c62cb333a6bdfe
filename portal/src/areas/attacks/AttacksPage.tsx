import { Button } from '@mantine/core';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { ShieldCheck } from 'lucide-react';
import { useCallback, useState } from 'react';
import { DownloadMenu } from '../../components/DownloadMenu.tsx';
import { ListPanel } from '../../components/list/ListPanel.tsx';
import { Loaded } from '../../components/Loaded.tsx';
import { Notice } from '../../components/Notice.tsx';
import { PageHeader } from '../../components/PageHeader.tsx';
import { formatMoment } from '../../format.ts';
import { messages } from '../../messages/index.ts';
import '../../styles/attacks.css';
import { type AttackSearch, parseTerms } from './attack-search.ts';
import { attacksCsv } from './attacks-csv.ts';
import { COLUMNS } from './attack-columns.tsx';
import { type AttackList as AttackListData, useAttackList } from './queries.ts';
import { SearchTools } from './SearchTools.tsx';
import { Timeline } from './Timeline.tsx';

const text = messages.attacks;
const FIRST_LIMIT = 300;
const NOWHERE = {};

export function AttacksPage() {
  const search = useSearch({ from: '/attacks' });
  const navigate = useNavigate();
  const [limit, setLimit] = useState(FIRST_LIMIT);
  const parsed = parseTerms(search.q ?? '');
  const list = useAttackList(search, parsed.ok ? parsed.where : NOWHERE, limit);
  const change = useCallback(
    (next: AttackSearch) => void navigate({ to: '/attacks', search: next, replace: true }),
    [navigate],
  );
  const attacks = list.data?.attacks ?? [];
  return (
    <>
      <PageHeader title={text.title} lead={text.lead}>
        {attacks.length > 0 && (
          <DownloadMenu name="attacks" toCsv={() => attacksCsv(attacks)} toJson={() => list.data} />
        )}
      </PageHeader>
      <SearchTools search={search} onChange={change} />
      <Loaded query={list} rows={10} inCard>
        {(data) => (
          <AttackList
            list={data}
            isOngoing={search.ongoing === true}
            isLoading={list.isPlaceholderData}
            onMore={() => setLimit(limit * 2)}
          />
        )}
      </Loaded>
    </>
  );
}

interface ListProps {
  readonly list: AttackListData;
  readonly isOngoing: boolean;
  readonly isLoading: boolean;
  onMore(): void;
}

function AttackList({ list: { attacks, meta }, isOngoing, isLoading, onMore }: ListProps) {
  return (
    <>
      {meta.from_clamped && (
        <Notice kind="info">{text.clamped(formatMoment(new Date(meta.from)))}</Notice>
      )}
      {attacks.length > 0 && <Timeline attacks={attacks} from={meta.from} to={meta.to} />}
      <ListPanel
        title={text.title}
        rows={attacks}
        isBusy={isLoading}
        empty={{ icon: ShieldCheck, ...(isOngoing ? text.emptyOngoing : text.empty) }}
        columns={COLUMNS}
        minWidth={980}
        keyOf={({ id }) => id}
        foot={() => (
          <div className="row">
            {text.shown(attacks.length, meta.total)}
            {attacks.length < meta.total && (
              <Button size="compact-sm" variant="default" loading={isLoading} onClick={onMore}>
                {text.more}
              </Button>
            )}
          </div>
        )}
      />
    </>
  );
}
