import type { Parsed } from './parsed.ts';

/** ISO 3166-1 alpha-2, the officially assigned codes, by the continents of UN M49. https://www.iso.org/obp/ui/#search */
export const CONTINENTS = {
  africa: codes(
    `AO BF BI BJ BW CD CF CG CI CM CV DJ DZ EG EH ER ET GA GH GM GN GQ GW IO KE KM LR LS LY MA MG ML MR
    MU MW MZ NA NE NG RE RW SC SD SH SL SN SO SS ST SZ TD TF TG TN TZ UG YT ZA ZM ZW`,
  ),
  northAmerica: codes(
    `AG AI AW BB BL BM BQ BS BZ CA CR CU CW DM DO GD GL GP GT HN HT JM KN KY LC MF MQ MS MX NI PA PM PR
    SV SX TC TT US VC VG VI`,
  ),
  southAmerica: codes(`AR BO BR CL CO EC FK GF GY PE PY SR UY VE`),
  asia: codes(
    `AE AF AM AZ BD BH BN BT CC CN CX CY GE HK ID IL IN IQ IR JO JP KG KH KP KR KW KZ LA LB LK MM MN MO
    MV MY NP OM PH PK PS QA SA SG SY TH TJ TL TM TR TW UZ VN YE`,
  ),
  europe: codes(
    `AD AL AT AX BA BE BG BY CH CZ DE DK EE ES FI FO FR GB GG GI GR HR HU IE IM IS IT JE LI LT LU LV MC
    MD ME MK MT NL NO PL PT RO RS RU SE SI SJ SK SM UA VA`,
  ),
  oceania: codes(`AS AU CK FJ FM GU KI MH MP NC NF NR NU NZ PF PG PN PW SB TK TO TV UM VU WF WS`),
  antarctica: codes(`AQ BV GS HM`),
} as const;

const ASSIGNED = new Set(Object.values(CONTINENTS).flat());

/** Codes that the standard leaves to users: AA, QM to QZ, XA to XZ, ZZ. Data sets use some (XK, for Kosovo). */
const USER_ASSIGNED = /^(?:AA|Q[M-Z]|X[A-Z]|ZZ)$/;

/** Common mistakes, and the codes that were meant. */
const MISTAKEN: Readonly<Record<string, string>> = { UK: 'GB', EL: 'GR' };

/** Two capital letters of ISO 3166-1. Any other code would make a rule that matches nothing. */
export function parseCountry(text: string): Parsed<string> {
  if (ASSIGNED.has(text) || USER_ASSIGNED.test(text)) return { ok: true, value: text };
  const meant = MISTAKEN[text.toUpperCase()] ?? text.toUpperCase();
  const hint = ASSIGNED.has(meant) ? `; ${meant} was probably meant` : '';
  return {
    ok: false,
    reason: `"${text.slice(0, 20)}" is no country code of ISO 3166-1 alpha-2${hint}`,
  };
}

function codes(text: string): readonly string[] {
  return text.split(/\s+/);
}
