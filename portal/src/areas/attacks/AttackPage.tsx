import { Link, useParams } from '@tanstack/react-router';
import { DownloadMenu } from '../../components/DownloadMenu.tsx';
import { Loaded } from '../../components/Loaded.tsx';
import { Notice } from '../../components/Notice.tsx';
import { PageHeader } from '../../components/PageHeader.tsx';
import { Pill } from '../../components/Pill.tsx';
import { messages } from '../../messages/index.ts';
import '../../styles/attacks.css';
import { Actions } from './one/Actions.tsx';
import { AttackFacts } from './one/AttackFacts.tsx';
import { CancelButton } from './one/CancelButton.tsx';
import { curveCsv } from './one/curve.ts';
import { DropsMeanwhile } from './one/DropsMeanwhile.tsx';
import { Makeup } from './one/Makeup.tsx';
import { type AttackView, useAttack } from './queries.ts';
import { Steps } from './one/Steps.tsx';
import { Traffic } from './one/Traffic.tsx';
import { UsualTraffic } from './one/UsualTraffic.tsx';
import { attacksCsv } from './attacks-csv.ts';

const text = messages.attack;
const ABOVE = { to: '/attacks', title: messages.attacks.title } as const;

export function AttackPage() {
  const { attack: id } = useParams({ from: '/attacks/$attack' });
  const attack = useAttack(id);
  if (attack.data !== undefined) return <Shown view={attack.data} />;
  return (
    <>
      <PageHeader title={text.one} above={ABOVE} />
      <section className="card">
        <Loaded query={attack} rows={8}>
          {() => null}
        </Loaded>
      </section>
    </>
  );
}

function Shown({ view }: { readonly view: AttackView }) {
  const { attack, evidence, mitigations } = view;
  const { id, destination_ip: ip, status } = attack;
  const curve = evidence?.series ?? null;
  return (
    <>
      <PageHeader
        title={text.title(attack.attack_type, ip)}
        above={ABOVE}
        lead={
          <Link to="/addresses/$ip" params={{ ip }} search={{ tab: 'drops' }}>
            {text.toAddress}
          </Link>
        }
      >
        {status === 'ongoing' ? (
          <Pill tone="bad">{messages.attacks.ongoing}</Pill>
        ) : (
          <Pill tone="neutral">{messages.attacks.ended}</Pill>
        )}
        <DownloadMenu
          name={`attack-${id}`}
          labels={{ csv: curve === null ? messages.download.csv : text.csv, json: text.json }}
          toCsv={() => (curve === null ? attacksCsv([attack]) : curveCsv(curve))}
          toJson={() => view}
        />
        <CancelButton view={view} />
      </PageHeader>
      <UsualTraffic view={view} />
      <AttackFacts view={view} />
      <div className="main-aside">
        <Traffic view={view} />
        <Steps view={view} />
      </div>
      {evidence === null ? (
        <Notice kind="info">{text.noEvidence}</Notice>
      ) : (
        <Makeup evidence={evidence} />
      )}
      <Actions mitigations={mitigations} />
      <DropsMeanwhile attack={attack} />
    </>
  );
}
