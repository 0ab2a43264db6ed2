// Package detector tells the tide from the flood: of each flow it says when the flow has burst, and when that is
// over. It is pure: Step takes the present moment and what arrived, about every 100 ms, off the request's way.
//
// # Model
//
// A flow's arrivals are counted in cells of 100 ms. The newest 64 cells (6.4 s) are what is judged; what leaves
// them is learned. So the level that a flow is held to is never made of what is being judged.
//
// The level is two exponential means, a short one (8 s) and a long one (64 s). A tide is a rate that doubles no
// faster than Rise. The short mean is brought forward by its own lag along the trend it shows against the long
// one, and then by 2^(6.4 s/Rise): that is the most a tide can have come to by now. The long mean is a floor under it without any growth: who comes back from a dip has not burst.
// With m the larger of both times the length, the null hypothesis for any length of newest cells is: the count's
// mean is at most m.
//
// Whole silence is not a level. Once a flow has sent nothing for a second and for ten of its usual gaps, nothing
// is learned until it is back; it is then judged by what it did when it was there. The same holds for a gap in the
// steps, whatever its cause. Since a tide may have gone on unseen, the level may then be exceeded by the growth of
// that time, at most twofold, until the flow has been learned again for a quarter of it.
//
// # Test
//
// The beginning of a surge is not known, and neither is its height. For each of six possible beginnings (2, 4, 8
// .. 64 cells ago), with n arrivals since where m were due, the score is the log-likelihood ratio of the best rise
// r, at least Ratio, against none:
//
//	S = (n ln r - (r-1) m) / v,  r = max(Ratio, n/m),  v = phi (1 + d/T)
//
// The largest of the six decides: a generalized likelihood ratio over a grid of change points, which is Page's
// CUSUM with the height left open. CUSUM for one height is the quickest test there is for that height at a given
// false alarm rate (Lorden, Moustakides) and slow for others; this one is within a few cells of it at each height,
// and forgets by itself. With n below (r-1)/ln r m (1.23 m for a Ratio of 1.5) S is negative: what is left of a
// misfit below 23 % cannot add up, however much traffic there is.
//
// phi is the flow's own dispersion at that length: how many times Poisson's the variance of its counts is. Traffic
// that comes in trains has 13 and more, and more at longer lengths. It is estimated from the differences of
// neighbouring counts (Allan's variance), which a trend leaves alone, over about 410 s, and counts only when it is
// 6.4 s old, lest a surge excuse itself; what a surge's edges add is bounded, lest it excuse the next. Dividing S by
// it is the usual correction (quasi-likelihood). phi is never below 1: traffic without any variance has the test of
// Poisson traffic, not a sharper one. 1 + d/T, with T the seconds that the level stands for (at most 32), accounts for
// the level being an estimate too.
//
// The fullest cell of the n is taken to be as expected. So a clump in one cell is not a surge, and one that lasts
// is found from its second cell on.
//
// # False alarms
//
// At one moment and one length, S above h has a chance of at most e^-h under the null hypothesis (Chernoff's
// bound, which S attains but for a factor); dependent looks, ten a second at six lengths, multiply it by less than
// 60 a second. With h = 13, the least where bursts do not use to begin, that is below one in two hours of a flow by
// the bound; the real rate is far lower, as the growth allowed, the floor of the long mean and the fullest cell all
// lean to the safe side, and looks that overlap share their luck. In simulated steady Poisson traffic, 1,000 hours for
// each rate, a score of 6 was reached 132 times at 5/s, 91 times at 20/s and 24 times at 50/s, each further nat 3 to
// 4.5 times more seldom: 8 was reached 10, 7 and 0 times, 10 never, and 13, extrapolated, once in 50,000 hours. Of
// tides at the limit (60/s doubling in a minute, in a straight line or as 2^t; 60/s to 240/s in 4 min) none of 1,000 was
// alarmed. Real traffic has heavier tails than a multiple of Poisson's: what is left there are true rises of one to
// three seconds; see Habits.
//
// # Delay
//
// A rise from a to b arrivals a second gives (b ln(b/m) - (b-m))/v nats a second, m being a with its growth, and
// is found when that has come to what is needed, 14 at first, at the next of the six lengths, plus one cell for the
// fullest. Simulated, Poisson, known for 2 minutes, median and 95 % of 400 in seconds:
//
//	from     x 1.5       x 2         x 3         x 5
//	10/s     -           -           2.4  3.7    0.8  1.3
//	50/s     -           1.6  2.9    0.6  0.8    0.3  0.4
//	200/s    1.9  3.8    0.6  0.8    0.3  0.4    0.2  0.2
//	1000/s   0.8  1.1    0.3  0.4    0.2  0.2    0.2  0.2
//
// A dash is a rise of which less than half are found: by the time its arrivals suffice, a tide could have brought as many.
//
// # Habits
//
// S tells chance from a change of rate. It cannot tell a burst from a blip, a change that is over within seconds: in
// its first second a blip is as true as a burst. Which of the two a rise will be is a matter of what the flow usually
// does. So every excursion (S of 8 or more) is followed until it is known to have lasted for 12 s, a burst, or to have
// passed, a blip, whether it was called a surge or not. For each half minute of the hour it is noted how many of both
// began there, since most callers are machines, and machines call by the clock: what comes at 31 minutes past comes
// there each hour.
//
// Let o and b be the rates of bursts and of blips in the present half minute, and let R(n) be the height above 8 that one
// blip in n reaches. The odds that an excursion at S is a burst, and not a blip, are at least o over b times the share of
// blips that reach S. So they are at Odds when
//
//	S = 8 + R(Odds b/o)
//
// The heights of blips above a high threshold have a generalized Pareto distribution, whatever the distribution below it
// (Pickands), by which Siffer et al. set thresholds for streams. With the mean t and the shape k found by moments (t from
// all blips so far, at most 200 of them weigh; k within 0 and 0.3, at first 0.2, by the variance):
//
//	R(n) = t (1-k)/k (n^k - 1), or t ln n without a shape
//
// That is what a surge takes: at least 13 where bursts do not use to begin, 8 where they do, at most 60. Shiryaev's
// Bayesian change detection does the same with a prior for the moment of change; here the prior is learned. o and b are
// the half minute's own counts (o with half of what its neighbours have), with a mean half minute as a prior worth six
// hours. In that mean a half minute counts once in two days at most: what comes by the clock says nothing of other
// moments. Until something is known t is 0.8 and b is 10 times o: 14. A half minute forgets the fourteenth part each day
// that it is seen in. Odds is 20: docs/detector.md shows what others come to.
//
// A caller who makes himself jumpy on purpose gets 60 nats, no more. That is three seconds of twice 60/s, and half a second
// of five times.
//
// # Season
//
// Season has the level of each hour of the week. It is a help, not a duty: what it says of an hour only ever allows
// more. From 5 min before an hour that usually has k times the level of the one before (16 at most) until 5 min after
// its begin, k times the level of before is expected, so the season's level is scaled to today's. From then on the
// flow's own level has it. Only whole hours that were seen are learned: a gap in the steps is not, but the silence of
// a flow that was quiet before it is. The level that a flow had when it was last there is kept with it: who is back after
// his flow was dropped, or after a restart, is judged at once, as after any other gap; and if he comes in another hour than
// he left, what the season says between the two is allowed. How a season is learned, robustly, stands with Season; Shape
// is the pooled one that a new flow goes by.
//
// # States
//
// A flow is Learning until it has been seen for 5 s, not counting silence. Then Calm, or Rising from S of 8 on. It is
// Surge when S reaches what is needed while Rate is at least MinRate. From then on the level stands still. A surge
// shows as long as one of the lengths up to 1.6 s has an S of 4; when none has, the flow is Cooling, and calm after Hold,
// if the mean of the newest 6.4 s is also below halfway to Ratio. So what it takes to begin is at least twice what it
// takes to go on, and more than what it takes to end. Silence is not calm: it ends a surge after a minute and Hold. A surge that has
// lasted for Learn, pauses apart, is the new normal; also one that a pause has ended, if it went on before anything else was
// learned.
//
// # What it cannot do
//
// Which blips a flow has is known after it has had some; a new flow's first are found as surges. So are those that come at no
// particular time, if they are as high as few were before. A burst that begins as slowly as a blip, at an unusual
// moment, is found when it has outgrown the blips, some seconds later. A surge with pauses of more than a minute is found
// at each coming, until it has lasted for Learn in all.
//
// # References
//
// E. S. Page, Continuous inspection schemes, Biometrika 41 (1954). G. Lorden, Procedures for reacting to a change
// in distribution, Ann. Math. Statist. 42 (1971). A. Willsky and H. Jones, A generalized likelihood ratio approach
// to the detection and estimation of jumps in linear systems, IEEE Trans. Autom. Control 21 (1976). G.
// Moustakides, Optimal stopping times for detecting changes in distributions, Ann. Statist. 14 (1986). D. Siegmund
// and E. Venkatraman, Using the generalized likelihood ratio statistic for sequential detection of a change-point,
// Ann. Statist. 23 (1995). T. L. Lai, Sequential changepoint detection in quality control and dynamical systems,
// J. R. Statist. Soc. B 57 (1995). D. W. Allan, Statistics of atomic frequency standards, Proc. IEEE 54 (1966). A.
// Shiryaev, On optimum methods in quickest detection problems, Theory Probab. Appl. 8 (1963). J. Pickands, Statistical
// inference using extreme order statistics, Ann. Statist. 3 (1975). A. Siffer, P.-A. Fouque, A. Termier and C.
// Largouet, Anomaly detection in streams with extreme value theory, KDD 2017.
package detector
