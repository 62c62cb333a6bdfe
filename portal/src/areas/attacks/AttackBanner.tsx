import { Link } from '@tanstack/react-router';
import { Notice } from '../../components/Notice.tsx';
import { messages } from '../../messages/index.ts';
import { useAttackList } from './queries.ts';

const text = messages.attacked;
const ONGOING = { ongoing: true } as const;
const MAX_COUNTED = 100;

/** Says that an address is under attack, and leads there. Nothing where it is not, or the key may not see attacks. */
export function AttackBanner({ ip }: { readonly ip: string }) {
  const { data } = useAttackList(ONGOING, { ip }, MAX_COUNTED);
  const attack = data?.attacks[0];
  if (attack === undefined || attack.destination_ip !== ip) return null;
  return (
    <Notice kind="bad">
      {text.banner(attack.attack_type, attack.peak_bps_formatted, attack.peak_pps_formatted)}{' '}
      <Link to="/attacks/$attack" params={{ attack: attack.id }}>
        {text.see}
      </Link>
    </Notice>
  );
}
